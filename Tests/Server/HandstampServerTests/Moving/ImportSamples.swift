#if Programs
import HandstampServer

/// Small exports of each system. The hashes are those of "correct horse battery", made by bcrypt, argon2-cffi, Django and hashlib;
/// Firebase's are the vector that its authors publish.
enum ImportSamples {
  static let gotrue = ##"""
    {"instance_id": "00000000-0000-0000-0000-000000000000", "id": "0f6e1b9c-58a7-4a70-9d1c-3f4f3a6f1d01", "aud": "authenticated", "role": "authenticated", "email": "ada@example.org", "encrypted_password": "$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO", "email_confirmed_at": "2024-03-01 10:20:30.123456+00", "banned_until": null, "raw_user_meta_data": {"full_name": "Ada Lovelace"}, "created_at": "2024-03-01 10:20:00.5+00", "deleted_at": null, "is_anonymous": false, "phone": null, "identities": [{"provider": "email", "provider_id": "0f6e1b9c-58a7-4a70-9d1c-3f4f3a6f1d01", "identity_data": {"sub": "0f6e1b9c-58a7-4a70-9d1c-3f4f3a6f1d01"}}, {"provider": "google", "provider_id": "7788", "identity_data": {"sub": "7788", "email": "ada@example.org"}}]}
    {"instance_id": "00000000-0000-0000-0000-000000000000", "id": "0f6e1b9c-58a7-4a70-9d1c-3f4f3a6f1d02", "aud": "authenticated", "role": "authenticated", "email": "bob@example.org", "encrypted_password": "$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO", "email_confirmed_at": null, "banned_until": "2999-01-01 00:00:00+00", "raw_user_meta_data": {}, "created_at": "2024-03-01 10:20:00.5+00", "deleted_at": null, "is_anonymous": false, "phone": "4912345"}
    {"instance_id": "00000000-0000-0000-0000-000000000000", "id": "0f6e1b9c-58a7-4a70-9d1c-3f4f3a6f1d03", "aud": "authenticated", "role": "authenticated", "email": "", "encrypted_password": "$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO", "email_confirmed_at": "2024-03-01 10:20:30.123456+00", "banned_until": null, "raw_user_meta_data": {"full_name": "Ada Lovelace"}, "created_at": "2024-03-01 10:20:00.5+00", "deleted_at": null, "is_anonymous": true, "phone": null}
    """## + "\n"

  static let gotrueTable = ##"""
    instance_id,id,aud,role,email,encrypted_password,email_confirmed_at,banned_until,raw_user_meta_data,created_at,deleted_at,is_anonymous,phone
    00000000-0000-0000-0000-000000000000,0f6e1b9c-58a7-4a70-9d1c-3f4f3a6f1d01,authenticated,authenticated,ada@example.org,$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO,2024-03-01 10:20:30.123456+00,,"{""full_name"": ""Ada Lovelace""}",2024-03-01 10:20:00.5+00,,f,
    00000000-0000-0000-0000-000000000000,0f6e1b9c-58a7-4a70-9d1c-3f4f3a6f1d02,authenticated,authenticated,bob@example.org,$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO,,2999-01-01 00:00:00+00,{},2024-03-01 10:20:00.5+00,,f,4912345
    00000000-0000-0000-0000-000000000000,0f6e1b9c-58a7-4a70-9d1c-3f4f3a6f1d03,authenticated,authenticated,,$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO,2024-03-01 10:20:30.123456+00,,"{""full_name"": ""Ada Lovelace""}",2024-03-01 10:20:00.5+00,,t,
    """## + "\n"

  static let keycloak = ##"""
    {
      "id": "r",
      "realm": "users",
      "groups": [
        {
          "name": "staff",
          "path": "/staff"
        }
      ],
      "users": [
        {
          "id": "7c1fdf4e-0001-4d7e-9b55-0a3d1d7a0001",
          "createdTimestamp": 1709288400123,
          "username": "ada",
          "enabled": true,
          "totp": true,
          "emailVerified": true,
          "firstName": "Ada",
          "lastName": "Lovelace",
          "email": "ada@example.org",
          "credentials": [
            {
              "type": "password",
              "createdDate": 1709288400000,
              "secretData": "{\"value\": \"WQQDODUOiUsCq4TU2n/BjJuxgEtl5u8sme0q9weZe2Y75rDxx5nPYKwydksTVccl9pc6qtuBiyzO93PYEa+zww==\", \"salt\": \"MDEyMzQ1Njc4OWFiY2RlZg==\", \"additionalParameters\": {}}",
              "credentialData": "{\"hashIterations\": 600, \"algorithm\": \"pbkdf2-sha256\", \"additionalParameters\": {}}"
            },
            {
              "type": "otp",
              "secretData": "{\"value\":\"abc\"}",
              "credentialData": "{\"subType\":\"totp\",\"digits\":6}"
            },
            {
              "type": "webauthn-passwordless",
              "userLabel": "phone",
              "createdDate": 1709288400000,
              "secretData": "{}",
              "credentialData": "{\"aaguid\": \"00000000-0000-0000-0000-000000000000\", \"credentialId\": \"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\", \"counter\": 0, \"credentialPublicKey\": \"pQECAyYgASFYIJc7vE9pbeszSQiLwCiYSl6+8q02UnFFgQK4sR4m7DCyIlggmq2KOJ+iHL9A3RTL/8Pone9T0U9610Lcy1WFWacVuUM=\", \"attestationStatementFormat\": \"none\", \"transports\": [\"INTERNAL\"]}"
            }
          ],
          "groups": [
            "/staff",
            "/staff/board"
          ],
          "realmRoles": [
            "user"
          ]
        },
        {
          "id": "7c1fdf4e-0001-4d7e-9b55-0a3d1d7a0002",
          "createdTimestamp": 1709288400123,
          "username": "bob",
          "enabled": false,
          "emailVerified": false,
          "email": "bob@example.org",
          "credentials": [
            {
              "type": "password",
              "createdDate": 1709288400000,
              "secretData": "{\"value\": \"J8lM7XPRk6qo4qF4KjLF4u9eqZE6K0bNXnBihF5axU8=\", \"salt\": \"MDEyMzQ1Njc4OWFiY2RlZg==\", \"additionalParameters\": {}}",
              "credentialData": "{\"hashIterations\": 5, \"algorithm\": \"argon2\", \"additionalParameters\": {\"type\": [\"id\"], \"version\": [\"1.3\"], \"memory\": [\"7168\"], \"hashLength\": [\"32\"], \"parallelism\": [\"1\"]}}"
            }
          ],
          "groups": []
        },
        {
          "id": "7c1fdf4e-0001-4d7e-9b55-0a3d1d7a0003",
          "username": "service-account-api",
          "enabled": true,
          "serviceAccountClientId": "api"
        },
        {
          "id": "7c1fdf4e-0001-4d7e-9b55-0a3d1d7a0004",
          "username": "carol",
          "enabled": true,
          "emailVerified": true,
          "email": "carol@example.org",
          "credentials": [
            {
              "type": "password",
              "createdDate": 1709288400000,
              "secretData": "{\"value\": \"S6UbxWfl76rYGz5hBIn0anB8x5TilUX+Hd8SFJ5rD03bRWPFyW/kaHy9ZwPY8vtUIuO4tayjFLkbExmSdwVheg==\", \"salt\": \"MDEyMzQ1Njc4OWFiY2RlZg==\", \"additionalParameters\": {}}",
              "credentialData": "{\"hashIterations\": 500, \"algorithm\": \"pbkdf2-sha512\", \"additionalParameters\": {}}"
            }
          ],
          "federatedIdentities": [
            {
              "identityProvider": "google",
              "userId": "1122334455",
              "userName": "carol@example.org"
            }
          ]
        }
      ],
      "clients": [
        {
          "clientId": "a",
          "x": [
            {
              "users": []
            }
          ]
        }
      ]
    }
    """##

  static let firebase = ##"""
    {
      "users": [
        {
          "localId": "wR2rJbGgXfQ0Hm3kzVnS5yTqLpA1",
          "email": "ada@example.org",
          "emailVerified": true,
          "passwordHash": "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
          "salt": "42xEC+ixf3L2lw==",
          "displayName": "Ada",
          "lastSignedInAt": "1709288500000",
          "createdAt": "1709288400123",
          "providerUserInfo": [
            {
              "providerId": "google.com",
              "rawId": "998877",
              "email": "ada@example.org"
            }
          ]
        },
        {
          "localId": "wR2rJbGgXfQ0Hm3kzVnS5yTqLpA2",
          "email": "bob@example.org",
          "emailVerified": false,
          "createdAt": "1709288400123",
          "disabled": true,
          "providerUserInfo": []
        },
        {
          "localId": "wR2rJbGgXfQ0Hm3kzVnS5yTqLpA3",
          "phoneNumber": "+4912345",
          "createdAt": "1709288400123",
          "providerUserInfo": [
            {
              "providerId": "phone",
              "rawId": "+4912345"
            }
          ]
        }
      ]
    }
    """##

  static let auth0 = ##"""
    {"_id": {"$oid": "60425dc43519d90068f82973"}, "email_verified": true, "email": "ada@example.org", "passwordHash": "$2b$06$VqqQsJgB952a/Mvb6eudXuMPGyVNXYx5hLUcJD1ggjcyovbugS0ju", "password_set_date": {"$date": "2024-03-01T10:20:30.123Z"}, "tenant": "t", "connection": "Username-Password-Authentication", "_tmp_is_unique": true}
    {"user_id": "auth0|60425dc43519d90068f82974", "email": "bob@example.org", "email_verified": false, "name": "Bob", "created_at": "2024-03-01T10:20:30.123Z", "blocked": true, "identities": [{"provider": "auth0", "user_id": "60425dc43519d90068f82974", "connection": "Username-Password-Authentication", "isSocial": false}]}
    """## + "\n"

  static let kratos = ##"""
    [{"id": "9b0c5e1a-7f0e-4d39-8c2b-0d6a5a7e0001", "schema_id": "default", "state": "active", "traits": {"email": "ada@example.org", "name": {"first": "Ada", "last": "Lovelace"}}, "verifiable_addresses": [{"id": "x", "value": "ada@example.org", "verified": true, "via": "email", "status": "completed", "verified_at": "2024-03-01T10:20:30.123456Z"}], "recovery_addresses": [], "created_at": "2024-03-01T10:20:00Z", "credentials": {"password": {"type": "password", "identifiers": ["ada@example.org"], "config": {"hashed_password": "$argon2id$v=19$m=1024,t=1,p=1$r99yRswpuPXPRkKa1vA2UQ$kN4tdGVVcyphcOo85NtJrQ"}}, "totp": {"type": "totp", "identifiers": ["x"], "config": {}}, "oidc": {"type": "oidc", "identifiers": ["google:5566"], "config": {}}, "passkey": {"type": "passkey", "identifiers": [], "config": {"credentials": [{"id": "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=", "public_key": "pQECAyYgASFYIJc7vE9pbeszSQiLwCiYSl6+8q02UnFFgQK4sR4m7DCyIlggmq2KOJ+iHL9A3RTL/8Pone9T0U9610Lcy1WFWacVuUM=", "attestation_type": "none", "authenticator": {"aaguid": "AAAAAAAAAAAAAAAAAAAAAA==", "sign_count": 7, "clone_warning": false}, "flags": {"backup_eligible": true, "backup_state": true}, "display_name": "phone", "added_at": "2024-03-01T10:20:00Z", "is_passwordless": true}], "user_handle": "AAECAwQFBgcICQoLDA0ODw=="}}}}, {"id": "9b0c5e1a-7f0e-4d39-8c2b-0d6a5a7e0002", "schema_id": "default", "state": "inactive", "traits": {"email": "bob@example.org", "name": "Bob"}, "verifiable_addresses": [{"value": "bob@example.org", "verified": false, "via": "email"}], "created_at": "2024-03-01T10:20:00Z", "credentials": {"password": {"config": {"hashed_password": "$pbkdf2-sha256$i=1000,l=32$MDEyMzQ1Njc4OWFiY2RlZg$BVALGMmC/K/8ELErc5VgJxyPFApArIZRCQsqjEgZWJ4"}}}}]
    """##

  static let django = ##"""
    [{"model": "auth.group", "pk": 1, "fields": {"name": "staff", "permissions": []}}, {"model": "auth.user", "pk": 1, "fields": {"password": "pbkdf2_sha256$260000$DEi0PVzr1ioaFUgeMAENax$Xh/0MRi4rRsdILvSy7mV9/WnwB4Bkyh0HjiYhCww0Ug=", "last_login": null, "is_superuser": true, "username": "ada", "first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.org", "is_staff": true, "is_active": true, "date_joined": "2024-03-01T10:20:30.123Z", "groups": [1], "user_permissions": []}}, {"model": "auth.user", "pk": 2, "fields": {"password": "scrypt$1024$saltysalt$8$1$xEZEWJU4tJ41VUKKZ/E/9xGweZNAk3dkVIrT5fwXjq5251HGzOUdPqERyfn3l2K3fGgvYtpZjKy8NSYOdrtVVw==", "username": "bob", "first_name": "", "last_name": "", "email": "bob@example.org", "is_active": false, "date_joined": "2024-03-01T10:20:30Z", "groups": [["editors"]], "user_permissions": []}}, {"model": "auth.user", "pk": 3, "fields": {"password": "!unusable", "username": "carol@example.org", "first_name": "", "last_name": "", "email": "", "is_active": true, "date_joined": "2024-03-01T10:20:30Z", "groups": [], "user_permissions": []}}, {"model": "auth.user", "pk": 4, "fields": {"password": "sha1$abc$0f8ab1a57f0a57d9a64598c8dc47648013ccf3aa", "username": "dave", "email": "dave@example.org", "is_active": true, "date_joined": "2024-03-01T10:20:30Z", "groups": []}}]
    """##

  static let devise = ##"""
    id,email,encrypted_password,name,confirmed_at,created_at,unconfirmed_email
    17,ada@example.org,$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO,"Ada ""the
    Countess"", Lovelace",2024-03-01 10:20:30 UTC,2024-03-01 10:20:00 UTC,
    18,bob@example.org,$2b$06$VqqQsJgB952a/Mvb6eudXuMPGyVNXYx5hLUcJD1ggjcyovbugS0ju,,,2024-03-01 10:20:00 UTC,new@example.org
    """## + "\n"

  static let handstamp = ##"""
    {"id": "acc_1", "email": "ada@example.org", "email_verified": true, "name": "Ada", "locale": "de_CH", "created_at": "2024-03-01T10:20:30.123Z", "groups": ["staff"], "identity": {"issuer": "https://accounts.google.com", "subject": "1"}, "password_hash": "$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO", "passkeys": [{"id": "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA", "public_key": "pQECAyYgASFYIJc7vE9pbeszSQiLwCiYSl6-8q02UnFFgQK4sR4m7DCyIlggmq2KOJ-iHL9A3RTL_8Pone9T0U9610Lcy1WFWacVuUM", "sign_count": 3, "transports": ["internal"], "name": "phone"}]}
    {"email": "bob@example.org", "disabled": true}
    {"id": "acc_3", "email": "carol@example.org", "identities": [{"issuer": "https://github.com", "subject": "5", "label": "carol", "created_at": "2024-03-01T10:20:30.123Z", "last_used_at": "2024-03-02T10:20:30.123Z"}], "totp": {"secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "created_at": "2024-03-01T10:20:30.123Z", "last_used_at": "2024-03-02T10:20:30.123Z", "last_step": 57000000}, "recovery_code_hashes": ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"]}
    """## + "\n"

  static let firebaseConfiguration = """
    hash_config {
      algorithm: SCRYPT,
      base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
      base64_salt_separator: Bw==,
      rounds: 8,
      mem_cost: 14,
    }
    """

  static let all: [ImportFormat: String] = [
    .handstamp: handstamp, .gotrue: gotrue, .keycloak: keycloak, .firebase: firebase, .auth0: auth0, .kratos: kratos,
    .django: django, .devise: devise,
  ]
}
#endif
