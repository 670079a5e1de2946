// https://github.com/panva/jose/blob/v4.x/docs/functions/jwks_remote.createRemoteJWKSet.md: the ID token of a plain code flow
const http = require("http");
const jose = require("jose");

const { PARTY_ISSUER: issuer, PARTY_ID: id, PARTY_SECRET: secret, PARTY_URL: url } = process.env;
const back = url + "/callback";

async function signedIn(code) {
  const metadata = await (await fetch(issuer + "/.well-known/openid-configuration")).json();
  const tokens = await (await fetch(metadata.token_endpoint, {
    method: "POST", headers: { Authorization: "Basic " + Buffer.from(id + ":" + secret).toString("base64") },
    body: new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: back }),
  })).json();
  const keys = jose.createRemoteJWKSet(new URL(metadata.jwks_uri));
  const { payload, protectedHeader } = await jose.jwtVerify(tokens.id_token, keys, { issuer, audience: id });
  if (payload.nonce !== "n1") throw new Error("another nonce");
  const about = await fetch(metadata.userinfo_endpoint, { headers: { Authorization: "Bearer " + tokens.access_token } });
  return JSON.stringify([protectedHeader, payload, await about.json()]);
}

http.createServer(async (request, response) => {
  const address = new URL(request.url, url);
  if (address.pathname !== "/callback") {
    const query = new URLSearchParams({ response_type: "code", client_id: id, redirect_uri: back, scope: "openid profile email", state: "s1", nonce: "n1" });
    return response.writeHead(302, { Location: issuer + "/oauth/authorize?" + query }).end();
  }
  try {
    response.end("signed in: " + await signedIn(address.searchParams.get("code")));
  } catch (fault) {
    response.end("refused: " + fault + request.url);
  }
}).listen(new URL(url).port, "127.0.0.1");
