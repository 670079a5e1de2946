# https://metacpan.org/pod/Net::OAuth2::Profile::WebServer
use Mojolicious::Lite -signatures;
use Net::OAuth2::Profile::WebServer;

my $profile = Net::OAuth2::Profile::WebServer->new(
  client_id => $ENV{PARTY_ID}, client_secret => $ENV{PARTY_SECRET}, site => $ENV{PARTY_ISSUER}, authorize_path => "/oauth/authorize",
  access_token_path => "/oauth/token", protected_resource_path => "/oauth/userinfo", redirect_uri => $ENV{PARTY_URL} . "/callback",
  scope => "openid profile email", state => "s1");

get "/" => sub ($c) { $c->redirect_to($profile->authorize) };

get "/callback" => sub ($c) {
  my $token = $profile->get_access_token($c->param("code"));
  $c->render(text => "signed in: " . $token->get("/oauth/userinfo")->decoded_content);
};

app->start("daemon", "-l", $ENV{PARTY_URL});
