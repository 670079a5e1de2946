"""The OpenID provider oidc-provider-mock, independent of Handstamp. For tests.

It prints its address, signs every user in whose name a form has, and exits when its standard input closes.
"""
import os, sys

if len(sys.argv) == 1:
    from kit import pypi
    python = pypi.interpreter("upstream", "oidc-provider-mock==0.3.4")
    os.execv(python, [python, __file__, "serve"])

import logging, oidc_provider_mock

logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
with oidc_provider_mock.run_server_in_thread() as server:
    print(f"http://localhost:{server.server_port}", flush=True)
    sys.stdin.read()
