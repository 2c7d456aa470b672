"""A filter of system calls: what a solution never needs, the kernel refuses.

A deny list in the manner of the container runtimes. It takes away new processes, sockets, signals to others, memory that
no limit counts, and the calls with which sandboxes are usually left. Threads, files and memory stay. A program can neither kill
itself as the kernel kills it, nor have the kernel do it by a smaller limit of processor time: from outside both would look as if
the machine had run out of memory.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct
import sys

from context_bench_code.inside import linux

# Two tables of numbers: x86-64 has its own, 64-bit ARM and RISC-V share the generic one.
_X86_64 = {
    "clone": 56, "clone3": 435, "kill": 62, "tgkill": 234, "prlimit64": 302, "setrlimit": 160,
    "fork": 57, "vfork": 58, "execve": 59, "execveat": 322,
    "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424, "pidfd_open": 434,
    "pidfd_getfd": 438, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "process_madvise": 440,
    "kcmp": 312, "socket": 41,
    "memfd_create": 319, "memfd_secret": 447, "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240,
    "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
    "bpf": 321, "perf_event_open": 298, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "userfaultfd": 323, "keyctl": 250, "add_key": 248, "request_key": 249, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246,
    "kexec_file_load": 320, "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "syslog": 103,
    "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305, "adjtimex": 159, "sethostname": 170,
    "setdomainname": 171, "fanotify_init": 300, "vhangup": 153, "personality": 135,
    "iopl": 172, "ioperm": 173, "modify_ldt": 154,
}  # fmt: skip
_GENERIC = {
    "clone": 220, "clone3": 435, "kill": 129, "tgkill": 131, "prlimit64": 261, "setrlimit": 164,
    "execve": 221, "execveat": 281,
    "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "pidfd_send_signal": 424, "pidfd_open": 434,
    "pidfd_getfd": 438, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "process_madvise": 440,
    "kcmp": 272, "socket": 198,
    "memfd_create": 279, "memfd_secret": 447, "shmget": 194, "semget": 190, "msgget": 186, "mq_open": 180,
    "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
    "bpf": 280, "perf_event_open": 241, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "userfaultfd": 282, "keyctl": 219, "add_key": 217, "request_key": 218, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "init_module": 105, "finit_module": 273, "delete_module": 106, "kexec_load": 104,
    "kexec_file_load": 294, "reboot": 142, "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60, "syslog": 116,
    "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266, "adjtimex": 171, "sethostname": 161,
    "setdomainname": 162, "fanotify_init": 262, "vhangup": 58, "personality": 92,
}  # fmt: skip
_TABLES = {
    "x86_64": (0xC000003E, _X86_64),
    "aarch64": (0xC00000B7, _GENERIC),
    "riscv64": (0xC00000F3, _GENERIC),
}

# Classic BPF: load a word, jump if equal / greater or equal / a bit is set, return. Offsets into struct seccomp_data.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, (16, 24, 32)
_KILL, _REFUSE, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_PRETEND = _REFUSE  # with no error number: the call does nothing, and returns as if it had
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000
_SIGKILL = 9
_RLIMIT_CPU = 0


def available() -> bool:
    """Whether the numbers of this machine's system calls are known."""
    return linux.IS_LINUX and platform.machine() in _TABLES and sys.maxsize > 2**32


def lock() -> None:
    """Put the filter on this process, for ever. The process must have given up gaining privileges."""
    code = program(platform.machine(), os.getpid())
    instructions = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(instructions))
    linux.prctl(linux.PR_SET_SECCOMP, 2, ctypes.create_string_buffer(header, len(header)))


@functools.cache
def program(machine: str, myself: int) -> bytes:
    """The filter as the kernel reads it, for a process that may send signals to itself alone."""
    architecture, numbers = _TABLES[machine]
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_IF_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),  # 32-bit calls of a 64-bit machine have other numbers
        _step(_LOAD, _NUMBER),
        _step(_IF_AT_LEAST, _X32_BIT, 0, 1),
        _step(_RETURN, _REFUSE | errno.EPERM),
    ]
    judged_by_argument = {
        "clone": [(_IF_SET, 0, _CLONE_THREAD, "allow", "refuse")],
        "kill": [(_IF_EQUAL, 0, myself, "", "refuse"), (_IF_EQUAL, 1, _SIGKILL, "refuse", "allow")],
        "tgkill": [
            (_IF_EQUAL, 0, myself, "", "refuse"),
            (_IF_EQUAL, 2, _SIGKILL, "refuse", "allow"),
        ],
        "setrlimit": [(_IF_EQUAL, 0, _RLIMIT_CPU, "pretend", "allow")],
        "prlimit64": [
            (_IF_EQUAL, 0, 0, "", "refuse"),
            (_IF_EQUAL, 1, _RLIMIT_CPU, "", "allow"),
            (_IF_EQUAL, 2, 0, "allow", "pretend"),  # without a new limit it only tells the old one
        ],
    }
    for name, number in numbers.items():
        if name in judged_by_argument:
            judgement = _judgement(judged_by_argument[name])
            code += [_step(_IF_EQUAL, number, 0, len(judgement)), *judgement]
        else:  # without clone3 the C library falls back on clone, whose flags can be read
            refusal = errno.ENOSYS if name == "clone3" else errno.EPERM
            code += [_step(_IF_EQUAL, number, 0, 1), _step(_RETURN, _REFUSE | refusal)]
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _judgement(questions: list[tuple[int, int, int, str, str]]) -> list[bytes]:
    """Steps that ask one question after the other, each about an argument; its answers say where they lead, "" to the next."""
    ends = {"refuse": _REFUSE | errno.EPERM, "allow": _ALLOW, "pretend": _PRETEND}
    places = {name: 2 * len(questions) + place for place, name in enumerate(ends)}
    code = []
    for operation, argument, value, if_true, if_false in questions:
        code.append(_step(_LOAD, _ARGUMENTS[argument]))
        after = len(code) + 1
        code.append(
            _step(
                operation,
                value,
                *(places.get(answer, after) - after for answer in (if_true, if_false)),
            )
        )
    return [*code, *(_step(_RETURN, end) for end in ends.values())]


def _step(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", operation, if_true, if_false, value)
