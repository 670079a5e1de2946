# https://metacpan.org/pod/Mojolicious::Plugin::OAuth2
use Mojolicious::Lite -signatures;
use Mojo::URL;

app->secrets(["only for this test"]);
plugin OAuth2 => {
  handstamp => {
    key => $ENV{PARTY_ID}, secret => $ENV{PARTY_SECRET}, well_known_url => $ENV{PARTY_ISSUER} . "/.well-known/openid-configuration",
    scope => "openid profile email"}
};

get "/" => sub ($c) {
  $c->oauth2->get_token_p(handstamp => {redirect_uri => $ENV{PARTY_URL} . "/", authorize_query => {response_type => "code"}})->then(sub {
    return unless my $answer = shift;
    my $claims = $c->oauth2->jwt_decode(handstamp => data => $answer->{id_token});
    return $c->ua->get_p($c->oauth2->providers->{handstamp}{userinfo_url}, {Authorization => "Bearer $answer->{access_token}"})->then(
      sub ($tx) { $c->render(json => {signed_in => [$claims, $tx->res->json]}) });
  })->catch(sub { $c->render(text => "refused: " . shift, status => 500) });
};

app->start("daemon", "-l", $ENV{PARTY_URL});
