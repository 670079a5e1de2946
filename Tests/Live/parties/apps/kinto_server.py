"""https://docs.kinto-storage.org/en/stable/configuration/settings.html#openid-connect: a configuration of Kinto, which is started with it"""
import os, sys

import setting

with open(setting.FOLDER + "/kinto.ini", "w") as file:
    file.write(f"""[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = {setting.PORT}
[app:main]
use = egg:kinto
kinto.includes = kinto.plugins.openid
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
kinto.userid_hmac_secret = only for this test
multiauth.policies = handstamp
multiauth.policy.handstamp.use = kinto.plugins.openid.OpenIDConnectPolicy
multiauth.policy.handstamp.issuer = {setting.ISSUER}
multiauth.policy.handstamp.client_id = {setting.ID}
multiauth.policy.handstamp.client_secret = {setting.SECRET}
multiauth.policy.handstamp.userid_field = email
""")
os.execv(sys.executable, [sys.executable, os.path.dirname(sys.executable) + "/kinto", "start", "--ini", setting.FOLDER + "/kinto.ini"])
