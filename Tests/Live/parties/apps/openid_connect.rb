# https://github.com/nov/openid_connect/wiki
require "json"
require "openid_connect"
require "sinatra/base"

# The application and the server are on loopback, without TLS.
SWD.url_builder = URI::HTTP

class Application < Sinatra::Base
  CONFIG = OpenIDConnect::Discovery::Provider::Config.discover!(ENV["PARTY_ISSUER"])
  CLIENT = OpenIDConnect::Client.new(
    identifier: ENV["PARTY_ID"], secret: ENV["PARTY_SECRET"], redirect_uri: ENV["PARTY_URL"] + "/callback",
    authorization_endpoint: CONFIG.authorization_endpoint, token_endpoint: CONFIG.token_endpoint, userinfo_endpoint: CONFIG.userinfo_endpoint)
  NONCE = SecureRandom.hex(16)
  get("/") { redirect CLIENT.authorization_uri(scope: [:profile, :email], state: "s1", nonce: NONCE) }
  get("/callback") do
    CLIENT.authorization_code = params["code"]
    token = CLIENT.access_token!
    claims = OpenIDConnect::ResponseObject::IdToken.decode(token.id_token, CONFIG.jwks)
    claims.verify!(issuer: ENV["PARTY_ISSUER"], client_id: ENV["PARTY_ID"], nonce: NONCE)
    "signed in: " + claims.raw_attributes.to_json + token.userinfo!.raw_attributes.to_json
  end
end

Rack::Handler::WEBrick.run(Application, Host: "127.0.0.1", Port: URI(ENV["PARTY_URL"]).port)
