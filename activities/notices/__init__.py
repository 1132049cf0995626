"""What webhooks are told: as users write them, in which words and forms, over the wire."""
