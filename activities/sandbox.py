"""The sandbox that workflows run in: Temporal's own, with less to pay for and nothing more allowed."""

from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.converter import StorageDriverStoreContext, StorageDriverWorkflowInfo
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions


class Sandbox(WorkflowRunner):
    """Temporal's sandbox, with our pure contracts passed through and no import allowed that is not listed.

    The SDK enters the sandbox some eight times per workflow task only to ask which serialization context a payload
    has. Ours are encoded alike whatever they belong to, so the answer is given outside: a third of the task's time.
    """

    def __init__(self) -> None:
        restrictions = SandboxRestrictions.default.with_passthrough_modules("workflows", "annotated_types")
        policy = (
            workflow.SandboxImportNotificationPolicy.WARN_ON_DYNAMIC_IMPORT
            | workflow.SandboxImportNotificationPolicy.RAISE_ON_UNINTENTIONAL_PASSTHROUGH
        )
        self._runner = SandboxedWorkflowRunner(restrictions=restrictions.with_import_notification_policy(policy))

    def prepare_workflow(self, defn: Any) -> None:
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return _ContextFree(self._runner.create_instance(det))

    def set_worker_level_failure_exception_types(self, types: Sequence[type[BaseException]]) -> None:
        self._runner.set_worker_level_failure_exception_types(types)


class _ContextFree(WorkflowInstance):
    """A sandboxed instance whose payloads need no context; stored ones are kept under the job."""

    def __init__(self, inner: WorkflowInstance) -> None:
        self._inner = inner
        info = inner.get_info()
        target = StorageDriverWorkflowInfo(
            namespace=info.namespace, id=info.workflow_id, run_id=info.run_id, type=info.workflow_type
        )
        self._store = StorageDriverStoreContext(target=target)

    def activate(self, act: Any) -> Any:
        return self._inner.activate(act)

    def get_serialization_context(self, command_info: Any) -> None:
        return None

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return self._store

    def get_info(self) -> workflow.Info:
        return self._inner.get_info()

    def get_thread_id(self) -> int | None:
        return self._inner.get_thread_id()
