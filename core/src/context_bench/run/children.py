"""Child processes for evaluators that are bound to the processor. One that hangs is killed and replaced."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from context_bench.errors import message_of
from context_bench.run.child_process import Child
from context_bench.run.stopping import CancelToken, CaughtError, capture

if TYPE_CHECKING:
    from context_bench.run.model import Scorer
    from context_bench.run.scoring import Batches

_PATIENCE = 60.0


class Children:
    """Processes that score with one evaluator, each led by a thread of ours.

    An evaluator that cannot be sent to another process scores on one thread of this one. It does so, too, while no process
    is to be had, as memory or their number is bounded; where some have begun, these go on alone.

    Args:
        scorer: The scorer.
        most: Processes at most.
        deadline: Seconds for one evaluation; None for no limit.
        stop: Says that nothing more is to be begun; None never does.
    """

    def __init__(
        self, scorer: Scorer, most: int, deadline: float | None, stop: CancelToken | None = None
    ) -> None:
        self._scorer, self._most, self._deadline = scorer, most, deadline
        self._stop = stop or CancelToken()
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._children: set[Child] = set()
        self._is_closed = False
        self._here: Batches | None = None
        try:
            self._pickle: bytes | None = pickle.dumps(scorer.evaluator)
        except Exception:  # noqa: BLE001 - whatever cannot be pickled stays here
            self._pickle = None

    def put(self, pending: Any) -> None:
        """Score a pending response.

        Raises:
            RuntimeError: Not even one thread can be started.
        """
        with self._lock:
            if self._threads < self._most and not self._is_closed:
                try:
                    Thread(target=self._serve, name="context-bench-process", daemon=True).start()
                    self._threads += 1
                except RuntimeError:
                    if not self._threads:
                        raise
                    self._most = self._threads
        self._queue.put(pending)

    def keep_time(self) -> None:
        """Fail what takes longer than the deadline and has no process that could be killed."""
        if self._here is not None:
            self._here.keep_time()

    def close(self) -> None:
        """End the processes at once."""
        with self._lock:
            self._is_closed = True
            children = list(self._children)
        for _ in range(self._threads):
            self._queue.put(None)
        for child in children:
            child.kill()
        if self._here is not None:
            self._here.close()

    def _serve(self) -> None:
        child: Child | None = None
        try:
            while (pending := self._queue.get()) is not None:
                if self._stop.is_set():
                    pending.drop()
                    continue
                child = child or self._begin()
                if child is None:
                    if self._is_needless():
                        self._queue.put(pending)
                        return
                    if isinstance(refused := capture(self._score_here, pending), CaughtError):
                        pending.add(self._scorer, refused.error)
                    continue
                found = capture(self._score, child, pending)
                if child.is_dead:
                    self._forget(child)
                    child = None
                    if (
                        self._is_closed
                    ):  # it was killed for that, and is asked again in the next session
                        pending.drop()
                        continue
                pending.add(self._scorer, found.error if isinstance(found, CaughtError) else found)
        finally:
            if child is not None:
                self._forget(child)

    def _begin(self) -> Child | None:
        """Return a process; None where the evaluator cannot be sent to one, or none is to be had."""
        if self._pickle is None:
            return None
        try:
            child = Child(f"{__name__}:answerer", self._pickle, _PATIENCE)
        except (EOFError, TimeoutError):  # it cannot be loaded there
            self._pickle = None
            return None
        except (OSError, RuntimeError):  # no process is to be had, or no thread that leads it
            return None
        with self._lock:
            self._children.add(child)
        return child

    def _score(self, child: Child, pending: Any) -> Any:
        """Return what the evaluator says of an example and an output, in the child.

        Raises:
            TimeoutError: It took longer than the deadline; the child is dead.
            RuntimeError: The child ended.
        """
        try:
            found = pickle.loads(child.ask(pickle.dumps(pending.pair), self._deadline))
        except TimeoutError:
            child.kill()
            raise TimeoutError(
                f"it took longer than the deadline of {self._deadline:g} s, and was killed."
            ) from None
        except EOFError as error:
            raise RuntimeError(f"it {error}.") from error
        if isinstance(found, BaseException):
            raise found
        return found

    def _score_here(self, pending: Any) -> None:
        with self._lock:
            if self._here is None:
                from context_bench.run.scoring import Batches  # a child has no need of it

                self._here = Batches(self._scorer, self._deadline, self._stop)
        self._here.put(pending)

    def _is_needless(self) -> bool:
        """End a thread without a process where others serve the queue; the last one stays."""
        with self._lock:
            if self._pickle is None or self._threads == 1:
                return False
            self._threads -= 1
            self._most = self._threads
            return True

    def _forget(self, child: Child) -> None:
        with self._lock:
            self._children.discard(child)
        child.close()


def answerer(evaluator: bytes) -> Callable[[bytes], bytes]:
    """Be the child: return what says of a pair what the evaluator says, or what it raises."""
    score = pickle.loads(evaluator).score

    def answer(pair: bytes) -> bytes:
        try:
            return pickle.dumps(score(*pickle.loads(pair)))
        except BaseException as error:  # noqa: BLE001 - whatever an evaluator raises is this row's failure
            try:
                told = pickle.dumps(error)
                pickle.loads(told)  # many a class can be taken apart and not be put together again
                return told
            except Exception:  # noqa: BLE001 - it cannot be sent as it is
                return pickle.dumps(RuntimeError(f"{type(error).__name__}: {message_of(error)}"))

    return answer
