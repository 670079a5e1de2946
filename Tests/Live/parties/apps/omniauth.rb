# https://github.com/omniauth/omniauth_openid_connect
require "json"
require "omniauth_openid_connect"
require "sinatra/base"

# The application and the server are on loopback, without TLS.
SWD.url_builder = URI::HTTP
OmniAuth.config.logger = Logger.new($stderr)

class Application < Sinatra::Base
  use Rack::Session::Cookie, secret: "only for this test " * 4
  # Without a page in between.
  OmniAuth.config.allowed_request_methods = [:get]
  OmniAuth.config.silence_get_warning = true
  use OmniAuth::Builder do
    provider :openid_connect, name: :handstamp, scope: [:openid, :profile, :email], issuer: ENV["PARTY_ISSUER"], discovery: true,
      client_options: { identifier: ENV["PARTY_ID"], secret: ENV["PARTY_SECRET"], redirect_uri: ENV["PARTY_URL"] + "/auth/handstamp/callback" }
  end
  get("/") { redirect "/auth/handstamp" }
  get("/auth/handstamp/callback") { "signed in: " + request.env["omniauth.auth"].to_hash.slice("uid", "info", "extra").to_json }
  get("/auth/failure") { "refused: " + params.to_json }
end

Rack::Handler::WEBrick.run(Application, Host: "127.0.0.1", Port: URI(ENV["PARTY_URL"]).port)
