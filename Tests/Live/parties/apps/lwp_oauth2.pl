# https://metacpan.org/pod/LWP::Authen::OAuth2
package Handstamp {
  use parent "LWP::Authen::OAuth2::ServiceProvider";
  sub authorization_endpoint { $ENV{PARTY_ISSUER} . "/oauth/authorize" }
  sub token_endpoint { $ENV{PARTY_ISSUER} . "/oauth/token" }
  sub required_init { "client_id", "client_secret", "redirect_uri", "scope" }
}
BEGIN { $INC{"Handstamp.pm"} = 1 }

use LWP::Authen::OAuth2;
use Mojolicious::Lite -signatures;

my $oauth2 = LWP::Authen::OAuth2->new(
  service_provider => "Handstamp", client_id => $ENV{PARTY_ID}, client_secret => $ENV{PARTY_SECRET}, redirect_uri => $ENV{PARTY_URL} . "/callback",
  scope => "openid profile email");

get "/" => sub ($c) { $c->redirect_to($oauth2->authorization_url(state => "s1")) };

get "/callback" => sub ($c) {
  $oauth2->request_tokens(code => $c->param("code"));
  $c->render(text => "signed in: " . $oauth2->get($ENV{PARTY_ISSUER} . "/oauth/userinfo")->decoded_content);
};

app->start("daemon", "-l", $ENV{PARTY_URL});
