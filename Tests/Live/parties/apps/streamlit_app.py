"""https://docs.streamlit.io/develop/concepts/connections/authentication: started with Python, it writes its settings and becomes Streamlit"""
import os, sys

if os.environ.pop("PARTY_FIRST", None):
    import setting
    os.mkdir(setting.FOLDER + "/.streamlit")
    with open(setting.FOLDER + "/.streamlit/secrets.toml", "w") as file:
        file.write(f"""[auth]
redirect_uri = "{setting.URL}/oauth2callback"
cookie_secret = "only for this test"
client_id = "{setting.ID}"
client_secret = "{setting.SECRET}"
server_metadata_url = "{setting.METADATA}"
""")
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", __file__, "--server.port", str(setting.PORT), "--server.address", "127.0.0.1",
                              "--server.headless", "true", "--browser.gatherUsageStats", "false"])

import streamlit as st

if st.user.is_logged_in:
    st.write(f"signed in: {st.user.name} {st.user.email} {st.user.sub}")
elif st.button("Log in"):
    st.login()
