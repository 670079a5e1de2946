<?php
// https://github.com/roundcube/roundcubemail/wiki/Configuration:-OAuth2: a configuration of Roundcube, which hands the access token to Dovecot.
$issuer = getenv('PARTY_ISSUER');
$config = [
    'db_dsnw' => 'sqlite:///' . getenv('PARTY_FOLDER') . '/roundcube.db?mode=0646',
    'log_driver' => 'stdout', 'temp_dir' => getenv('PARTY_FOLDER'),
    'imap_host' => '127.0.0.1:' . getenv('PARTY_IMAP'), 'smtp_host' => '127.0.0.1:9',
    'des_key' => 'only-for-this-test-24-by', 'plugins' => [], 'enable_installer' => false,
    'oauth_provider' => 'generic', 'oauth_provider_name' => 'Handstamp',
    'oauth_client_id' => getenv('PARTY_ID'), 'oauth_client_secret' => getenv('PARTY_SECRET'),
    'oauth_auth_uri' => $issuer . '/oauth/authorize', 'oauth_token_uri' => $issuer . '/oauth/token',
    'oauth_identity_uri' => $issuer . '/oauth/userinfo', 'oauth_scope' => 'openid profile email', 'oauth_identity_fields' => ['email'],
];
