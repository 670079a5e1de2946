# https://github.com/oauth-xx/oauth2
require "json"
require "oauth2"
require "sinatra/base"

class Application < Sinatra::Base
  CLIENT = OAuth2::Client.new(
    ENV["PARTY_ID"], ENV["PARTY_SECRET"], site: ENV["PARTY_ISSUER"], authorize_url: "/oauth/authorize", token_url: "/oauth/token")
  BACK = ENV["PARTY_URL"] + "/callback"
  get("/") { redirect CLIENT.auth_code.authorize_url(redirect_uri: BACK, scope: "openid profile email", state: "s1") }
  get("/callback") do
    token = CLIENT.auth_code.get_token(params["code"], redirect_uri: BACK)
    "signed in: " + token.get("/oauth/userinfo").parsed.to_json
  end
end

Rack::Handler::WEBrick.run(Application, Host: "127.0.0.1", Port: URI(ENV["PARTY_URL"]).port)
