"""Which recording drives which test of the OpenAI adapters; `test_openai_chat_completeness.py` holds it complete."""

from activities.providers.errors import (
    ContextTooLong,
    ModelError,
    NotFound,
    RateLimited,
    Rejected,
    Unauthenticated,
)

FOLDERS = (
    "openai-responses",
    "openai-chat",
    "azure-openai",
    "groq",
    "deepseek",
    "mistral",
    "xai",
    "ollama",
    "openrouter",
    "other-compatible",
    "perplexity",
    "cross-provider",
    "durable-runs",
    "synthetic-fixtures-not-recordings",
)

ERRORS: dict[str, type[ModelError]] = {
    "azure-openai/error_deployment_not_found_404": NotFound,
    "azure-openai/error_invalid_key_401": Unauthenticated,
    "azure-openai/error_rate_limit_429_retry_after": RateLimited,
    "deepseek/error_context_length_400": ContextTooLong,
    "deepseek/error_invalid_key_401": Unauthenticated,
    "deepseek/responses_interleaved_calls_rejected_400": Rejected,
    "groq/error_model_not_found_404": NotFound,
    "mistral/error_invalid_key_401": Unauthenticated,
    "ollama/error_model_not_found_404_native": NotFound,
    "openai-chat/error_invalid_image_url_400": Rejected,
    "openai-chat/error_invalid_key_401": Unauthenticated,
    "openai-chat/error_model_not_found_404": NotFound,
    "openai-responses/error_bad_parameter_400": Rejected,
    "openai-responses/error_invalid_key_401": Unauthenticated,
    "openrouter/error_context_length_400_nested": ContextTooLong,
    "openrouter/error_upstream_429_three_times": RateLimited,
    "perplexity/error_context_length_400": ContextTooLong,
    "synthetic-fixtures-not-recordings/google_429_retry_info_fraction": RateLimited,
    "xai/error_invalid_key_is_400": Unauthenticated,
}

CHAT_DIALOGUES = (
    "openai-chat/tool_error_model_gives_up",
    "groq/parallel_calls_kimi_ids",
    "deepseek/three_identical_parallel_calls",
    "mistral/tool_call_without_type",
    "xai/chat_parallel_calls",
    "ollama/multi_turn_tools",
    "ollama/local_qwen3_parallel_calls",
    "openrouter/parallel_calls_kimi_reasoning_text",
    "other-compatible/snowflake_empty_finish_reason_and_zero_fields",
    "other-compatible/llamacpp_gpt_oss_reasoning_content",
    "other-compatible/vercel_gateway_gemini3_reasoning_details",
    "durable-runs/temporal_hitl_approval",
    "durable-runs/temporal_model_retry",
)

CHAT_SINGLE = (
    "openai-chat/finish_stop_with_tool_calls_forced",
    "openai-chat/legacy_function_call",
    "openai-chat/custom_tool_call_chat",
    "groq/tool_use_failed_400_then_recovery",
    "groq/tool_choice_required_not_called_400",
    "openrouter/tool_call_without_arguments_key",
)

RESPONSES_DIALOGUES = (
    "openai-responses/parallel_calls_one_tool_error",
    "openai-responses/gpt5_parallel_calls_with_reasoning",
    "deepseek/responses_api_reasoning_text_items",
)

RESPONSES_SINGLE = (
    "openai-responses/reasoning_without_following_item_400",
    "openai-responses/combined_call_id_history",
    "openai-responses/background_mode_poll_with_tool",
    "openai-responses/client_executed_tool_search",
    "openai-responses/additional_tools_input_item",
    "openai-responses/compaction_items",
    "openai-responses/refusal_content_part",
    "openai-responses/custom_tool_call_lark_grammar",
    "openai-responses/apply_patch_tool_call",
    "deepseek/responses_grouped_calls_accepted",
    "cross-provider/anthropic_openai_anthropic_handoff",
    "cross-provider/failover_openai_to_anthropic_midrun",
    "cross-provider/openai_to_gemini_replay",
    "synthetic-fixtures-not-recordings/openai_hallucinated_parallel_wrapper",
)

CHAT_STREAMS = (
    "openai-chat/stream_parallel_two_calls",
    "openai-chat/stream_no_finish_reason_repeated_id",
    "openai-chat/stream_arguments_key_missing_first",
    "mistral/stream_tool_call_without_index",
    "mistral/stream_name_empty_string_in_second_delta",
    "other-compatible/llamacpp_tool_streaming",
    "other-compatible/vllm_stream_length",
    "other-compatible/moonshot_kimi_avian_streaming",
    "durable-runs/temporal_complex_agent_streamed",
    "synthetic-fixtures-not-recordings/openai_compat_stream_args_null_never_filled",
)

CHAT_STREAM_ERRORS = ("groq/tool_use_failed_inside_200_stream",)

RESPONSES_STREAMS = (
    "openai-responses/incomplete_stream_sse",
    "openai-responses/item_id_rotation_copilot_proxy_sse",
    "synthetic-fixtures-not-recordings/openai_custom_tool_call_stream",
)

RESPONSES_STREAM_ERRORS = ("openai-responses/error_quota_inside_200_stream",)

OTHER_API = dict.fromkeys(
    (
        "synthetic-fixtures-not-recordings/anthropic_fallback_block",
        "synthetic-fixtures-not-recordings/anthropic_refusal_stop_details",
        "synthetic-fixtures-not-recordings/anthropic_refusal_stream",
    ),
    "Anthropic Messages",
)
