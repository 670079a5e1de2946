"""https://www.pgadmin.org/docs/pgadmin4/latest/oauth2.html: a configuration of pgAdmin, which is started with it"""
import builtins, importlib.util, os, runpy, sys

import setting

home = importlib.util.find_spec("pgadmin4").submodule_search_locations[0]
sys.path.insert(0, home)
builtins.SERVER_MODE = True
import config

config.SERVER_MODE, config.DEFAULT_SERVER, config.DEFAULT_SERVER_PORT, config.EFFECTIVE_SERVER_PORT = True, "127.0.0.1", setting.PORT, setting.PORT
config.DATA_DIR, config.LOG_FILE, config.SQLITE_PATH = setting.FOLDER, setting.FOLDER + "/pgadmin.log", setting.FOLDER + "/pgadmin.db"
config.SESSION_DB_PATH, config.STORAGE_DIR, config.AZURE_CREDENTIAL_CACHE_DIR, config.KERBEROS_CCACHE_DIR = (
    setting.FOLDER + "/" + name for name in ("sessions", "storage", "azure", "kerberos"))
config.MASTER_PASSWORD_REQUIRED = config.UPGRADE_CHECK_ENABLED = False
config.AUTHENTICATION_SOURCES = ["oauth2", "internal"]
config.OAUTH2_CONFIG = [dict(
    OAUTH2_NAME="handstamp", OAUTH2_DISPLAY_NAME="Handstamp", OAUTH2_CLIENT_ID=setting.ID, OAUTH2_CLIENT_SECRET=setting.SECRET,
    OAUTH2_TOKEN_URL=setting.ISSUER + "/oauth/token", OAUTH2_AUTHORIZATION_URL=setting.ISSUER + "/oauth/authorize",
    OAUTH2_SERVER_METADATA_URL=setting.METADATA, OAUTH2_API_BASE_URL=setting.ISSUER, OAUTH2_USERINFO_ENDPOINT="/oauth/userinfo",
    OAUTH2_SCOPE=setting.SCOPE)]
os.environ.setdefault("PGADMIN_SETUP_EMAIL", "admin@example.org")
os.environ.setdefault("PGADMIN_SETUP_PASSWORD", "only for this test")
os.environ["PGADMIN_SERVER_MODE"] = "ON"
runpy.run_path(home + "/pgAdmin4.py", run_name="__main__")
