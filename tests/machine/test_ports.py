"""Whether a port is free, against real sockets."""

from __future__ import annotations

import os
import socket

import pytest

from prl_tui.machine.ports import free_port, port_free, port_owner
from prl_tui.machine.processes import user_name


@pytest.fixture(params=[(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, ""), (socket.AF_INET6, "::")])
def listener(request):
    family, address = request.param
    try:
        server = socket.socket(family, socket.SOCK_STREAM)
        server.bind((address, 0))
    except OSError:
        pytest.skip("this box has no IPv6")
    with server:
        server.listen()
        yield server


def test_a_port_with_a_listener_is_taken_and_free_after_it(listener):
    port = listener.getsockname()[1]
    assert not port_free(port)
    listener.close()
    assert port_free(port)


def test_a_port_of_a_closed_connection_is_free(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        served, _ = server.accept()
        served.close()  # our side waits in TIME_WAIT
        client.close()
    assert port_free(port)


@pytest.mark.parametrize("port", [0, -1, 65536, 10**9])
def test_an_impossible_port_is_not_free(port):
    assert not port_free(port)


def test_a_free_port_can_be_listened_on_and_avoids_what_it_is_told():
    first = free_port()
    assert port_free(first)
    assert free_port(avoid={first}) != first


def test_the_owner_of_a_taken_port_is_named(listener):
    owner = port_owner(listener.getsockname()[1])
    assert owner is not None
    assert owner.user == user_name(os.getuid())
    assert owner.pid == os.getpid()
    assert owner.command


def test_nobody_owns_a_free_port():
    assert port_owner(free_port()) is None


def test_another_users_listener_is_known_by_its_user_alone(tmp_path):
    # A row of /proc/net/tcp of Linux 6: 0.0.0.0:29500 (733C) in LISTEN, uid 65534.
    row = "   0: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65534        0 77 1"
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text("  sl  local_address rem_address   st\n" + row + "\n")
    owner = port_owner(29500, tmp_path)
    assert owner is not None
    assert owner.user == user_name(65534)
