"""Who is at an address that cannot be talked to: nobody, the right server, another one, or something else."""

from __future__ import annotations

import socket
import ssl

from privjail.encrypted.study import Server

NOBODY, OTHER, NO_TLS, RIGHT = "nobody", "another certificate", "no TLS", "the right certificate"
SECONDS = 3.0


def who_answers(server: Server) -> str:
    """Look once. The certificate that is shown is compared with the study's, byte for byte; nothing is sent."""
    host, _, port = server.address.rpartition(":")
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS)
    except (OSError, ValueError):
        return NOBODY
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # it decides nothing: calls are made by gRPC, which checks
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with connection, context.wrap_socket(connection) as secured:
            shown = secured.getpeercert(binary_form=True)
    except (OSError, ValueError):
        return NO_TLS
    return RIGHT if shown == ssl.PEM_cert_to_DER_cert(server.certificate) else OTHER
