"""TCP ports of this box: is one free, which one is, and who has it.

A free port is a fact of the moment: another process can take it before the ranks do.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection

_LISTEN = "0A"


class PortOwner(Value):
    """Who listens on a port, as far as this user may know."""

    pid: int | None
    """None for another user's process, unless we are root."""
    user: str | None
    command: str | None
    """The program and its script, never its arguments (they can hold secrets)."""


def port_free(port: int) -> bool:
    """Whether a server could listen on `port` now, on IPv4 and, where the box has it, IPv6."""
    if not 0 < port < 65536:
        return False
    return _can_listen(socket.AF_INET, port) and _can_listen(socket.AF_INET6, port)


def free_port(avoid: Collection[int] = ()) -> int:
    """A port that is free now and not in `avoid`; OSError if none is found."""
    for _ in range(64):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("", 0))
            port = int(probe.getsockname()[1])
        if port not in avoid and port_free(port):
            return port
    raise OSError(errno.EADDRINUSE, "no free TCP port was found")


def port_owner(port: int, proc: Path = Path("/proc")) -> PortOwner | None:
    """Who listens on `port`; None if nobody does or nothing can be known."""
    uid = _listener_uid(port, proc)
    pid = _listener_pid(port)
    if uid is None and pid is None:
        return None
    from prl_tui.machine.processes import describe, user_name  # psutil is not light

    found = describe(pid) if pid is not None else None
    user = found.user if found and found.user else (user_name(uid) if uid is not None else None)
    return PortOwner(pid, user, found.command if found else None)


def _can_listen(family: socket.AddressFamily, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As servers do: a connection in TIME_WAIT does not count, a listener does.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind(("", port))
            probe.listen(1)
    except OSError as error:
        no_such_family = error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT)
        return family == socket.AF_INET6 and no_such_family
    return True


def _listener_uid(port: int, proc: Path) -> int | None:
    for table in ("net/tcp", "net/tcp6"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in (proc / table).read_text("ascii", "replace").splitlines()[1:]:
                columns = line.split()
                if columns[3] == _LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                    return int(columns[7])
    return None


def _listener_pid(port: int) -> int | None:
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="tcp"):
            listening = connection.status == psutil.CONN_LISTEN
            if listening and connection.laddr and connection.laddr.port == port and connection.pid:
                return int(connection.pid)
    return None
