# https://lemonldap-ng.org/documentation/latest/authopenidconnect.html: the portal of LemonLDAP::NG, with its configuration in one file
use strict;
use warnings;
use LWP::UserAgent;

my ($issuer, $url, $folder) = @ENV{"PARTY_ISSUER", "PARTY_URL", "PARTY_FOLDER"};
my $metadata = LWP::UserAgent->new->get("$issuer/.well-known/openid-configuration")->decoded_content;
my $keys = LWP::UserAgent->new->get("$issuer/.well-known/jwks.json")->decoded_content;
mkdir "$folder/$_" for "sessions", "cache", "lock";
open my $file, ">", "$folder/lemonldap.ini" or die;
print $file <<"END";
[all]
logLevel = warn
[configuration]
type = Local
localStorage = Cache::FileCache
localStorageOptions = { 'namespace' => 'test', 'cache_root' => '$folder/cache' }
[portal]
staticPrefix = /static
templateDir = /usr/share/lemonldap-ng/portal/templates
languages = en
portal = $url/
domain = 127.0.0.1
key = only for this test
globalStorage = Apache::Session::File
globalStorageOptions = { 'Directory' => '$folder/sessions', 'LockDirectory' => '$folder/lock', 'generateModule' => 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256' }
authentication = OpenIDConnect
userDB = Same
passwordDB = Null
portalUserAttr = mail
securedCookie = 0
locationRules = { '127.0.0.1' => { 'default' => 'accept' } }
exportedHeaders = { '127.0.0.1' => {} }
whatToTrace = mail
portalDisplayOidcConsents = 0
oidcRPMetaDataOptions = {}
oidcOPMetaDataJSON = { 'handstamp' => '$metadata' }
oidcOPMetaDataJWKS = { 'handstamp' => '$keys' }
oidcOPMetaDataOptions = { 'handstamp' => { 'oidcOPMetaDataOptionsClientID' => '$ENV{PARTY_ID}', 'oidcOPMetaDataOptionsClientSecret' => '$ENV{PARTY_SECRET}', 'oidcOPMetaDataOptionsScope' => 'openid profile email', 'oidcOPMetaDataOptionsCheckJWTSignature' => 1, 'oidcOPMetaDataOptionsTokenEndpointAuthMethod' => 'client_secret_post', 'oidcOPMetaDataOptionsUseNonce' => 1, 'oidcOPMetaDataOptionsIDTokenMaxAge' => 30, 'oidcOPMetaDataOptionsStoreIDToken' => 0 } }
oidcOPMetaDataExportedVars = { 'handstamp' => { 'cn' => 'name', 'mail' => 'email', 'uid' => 'sub' } }
END
close $file;
$ENV{LLNG_DEFAULTCONFFILE} = "$folder/lemonldap.ini";

require Lemonldap::NG::Portal::Main;
require Plack::Runner;
my $runner = Plack::Runner->new;
$runner->parse_options("--host", "127.0.0.1", "--port", $ENV{PARTY_PORT}, "--env", "deployment");
$runner->run(Lemonldap::NG::Portal::Main->run({}));
