"""Child processes for evaluators that are bound to the processor. One that hangs is killed and replaced.

Requests and answers are pickles with their length before them, on a child's standard input and output.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
from contextlib import suppress
from queue import SimpleQueue
from struct import Struct
from threading import Lock, Thread
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING, Any

from context_bench.runner.stopping import NAMES, Raised, Stop, guarded, message_of

if TYPE_CHECKING:
    from context_bench.runner.parts import Scorer
    from context_bench.runner.scoring import Batches

_LENGTH = Struct("!Q")
_SERVE = "import sys; sys.path[:] = {path!r}; from context_bench.runner.children import serve; serve()"
_READY = b"ready"
_PATIENCE, _LONGEST = 60.0, 1e6
_PIECE = 1 << 20
_PR_SET_PDEATHSIG = 1
_SYNCHRONIZE, _FOREVER = 0x00100000, 0xFFFFFFFF


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

    def __init__(self, scorer: Scorer, most: int, deadline: float | None, stop: Stop | None = None) -> None:
        self._scorer, self._most, self._deadline = scorer, most, deadline
        self._stop = stop or Stop()
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._children: set[_Child] = set()
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
            child.close()
        if self._here is not None:
            self._here.close()

    def _serve(self) -> None:
        child: _Child | None = None
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
                    if isinstance(refused := guarded(self._score_here, pending), Raised):
                        pending.add(self._scorer, refused.error)
                    continue
                found = guarded(child.score, pending)
                if child.is_dead:
                    self._forget(child)
                    child = None
                    if self._is_closed:  # it was killed for that, and is asked again in the next session
                        pending.drop()
                        continue
                pending.add(self._scorer, found.error if isinstance(found, Raised) else found)
        finally:
            if child is not None:
                self._forget(child)

    def _begin(self) -> _Child | None:
        """Return a process; None where the evaluator cannot be sent to one, or none is to be had."""
        if self._pickle is None or isinstance(child := guarded(_Child, self._pickle, self._deadline), Raised):
            return None
        with self._lock:
            self._children.add(child)
        if not child.is_dead:
            return child  # type: ignore[no-any-return]
        self._pickle = None
        self._forget(child)
        return None

    def _score_here(self, pending: Any) -> None:
        with self._lock:
            if self._here is None:
                from context_bench.runner.scoring import Batches  # a child has no need of it

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

    def _forget(self, child: _Child) -> None:
        child.close()
        child.release()
        with self._lock:
            self._children.discard(child)


class _Child:
    """One process."""

    def __init__(self, evaluator: bytes, deadline: float | None) -> None:
        self._deadline = deadline
        self._lock = Lock()
        self.is_dead = False
        command = [sys.executable, "-c", _SERVE.format(path=[os.path.abspath(path) for path in sys.path])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if guarded(self._ask, evaluator, _PATIENCE) != _READY:
            self.close()

    def score(self, pending: Any) -> Any:
        """Return what the evaluator says of an example and an output, in the child.

        Raises:
            TimeoutError: It took longer than the deadline; the child is dead.
            RuntimeError: The child ended.
        """
        message = pickle.dumps(pending.pair)
        try:
            told = self._ask(message, self._deadline)
        except TimeoutError:
            self.close()
            raise TimeoutError(f"it took longer than the deadline of {self._deadline:g} s, and was killed.") from None
        except Exception as error:  # what comes next would be taken for the answer to another pair
            self.close()
            raise RuntimeError(f"its process ended with exit code {self._process.returncode}.") from error
        found = pickle.loads(told)
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        """Kill the process."""
        with self._lock:
            self.is_dead = True
            self._process.kill()
            self._process.wait()

    def release(self) -> None:
        """Close its pipes, on the thread that reads: for another their numbers might be those of other pipes right after."""
        for pipe in filter(None, (self._process.stdin, self._process.stdout)):
            with suppress(OSError):
                pipe.close()

    def _ask(self, message: bytes, seconds: float | None) -> bytearray:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        _send(self._process.stdin, message)
        return _receive(self._process.stdout, seconds)


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def _receive(stream: IO[bytes], seconds: float | None = None) -> bytearray:
    until = None if seconds is None else monotonic() + seconds
    (length,) = _LENGTH.unpack(_read(stream.fileno(), _LENGTH.size, until))
    return _read(stream.fileno(), length, until)


def _read(number: int, size: int, until: float | None) -> bytearray:
    found = bytearray()
    while len(found) < size:
        if until is not None and not _has_more(number, max(0.0, until - monotonic())):
            raise TimeoutError
        piece = os.read(number, min(size - len(found), _PIECE))
        if not piece:
            raise EOFError
        found += piece
    return found


def _has_more(number: int, seconds: float) -> bool:
    """Whether something can be read within these seconds."""
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], seconds)[0])
    waiting = select.poll()  # the other one takes no number above 1,023
    waiting.register(number, select.POLLIN)
    return bool(waiting.poll(1000 * min(seconds, _LONGEST)))


def serve() -> None:
    """What a child does: read an evaluator, then pairs; write what it says of each, until its input ends."""
    for name in NAMES:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)  # the parent decides when to end
    end_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an evaluator prints must not mix with the answers
    requests = sys.stdin.buffer
    try:
        evaluator = pickle.loads(_receive(requests))
    except Exception as error:  # noqa: BLE001 - told to the parent, which then scores itself
        _send(answers, f"cannot be loaded: {error}".encode())
        return
    _send(answers, _READY)
    while True:
        try:
            pair = _receive(requests)
        except EOFError:
            return
        try:
            told = pickle.dumps(evaluator.score(*pickle.loads(pair)))
        except BaseException as error:  # noqa: BLE001 - whatever an evaluator raises is this row's failure
            try:
                told = pickle.dumps(error)
                pickle.loads(told)  # many a class can be taken apart and not be put together again
            except Exception:  # noqa: BLE001 - it cannot be sent as it is
                told = pickle.dumps(RuntimeError(f"{type(error).__name__}: {message_of(error)}"))
        _send(answers, told)


def end_with_parent() -> None:
    """Have this process end when its parent does, however that ends.

    Linux does it by itself (``prctl``); elsewhere a thread watches the parent.
    """
    parent = os.getppid()
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before that
            os._exit(1)
    else:
        Thread(target=_watch, args=(parent,), name="context-bench-parent", daemon=True).start()


def _watch(parent: int) -> None:
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(_SYNCHRONIZE, False, parent)
        ctypes.windll.kernel32.WaitForSingleObject(handle, _FOREVER)
    else:
        while os.getppid() == parent:
            sleep(0.5)
    os._exit(1)
