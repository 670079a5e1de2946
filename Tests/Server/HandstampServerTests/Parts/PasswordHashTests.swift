#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A password hash of another system` {
  let pool = PasswordPool(parameters: .forTests)

  @Test(arguments: MadeHash.all) func `lets the same password in, and no other`(made: MadeHash) async throws {
    let (password, encoded) = (Secret(made.password), Secret(made.encoded))
    #expect(throws: Never.self) { try PasswordHashes.check(encoded) }
    #expect(try await pool.verify(password, against: encoded))
    #expect(pool.isWeaker(encoded, of: password) == (made.password.utf8.count < 72 && !made.isOfToday))
    for wrong in ["", " " + made.password, "x" + made.password, String(made.password.dropLast(30)) + "x"] {
      #expect(try await pool.verify(Secret(wrong), against: encoded) == false, "\(wrong)")
    }
  }

  @Test func `of bcrypt reads 72 bytes, and stays until a shorter password comes`() async throws {
    let made = try #require(MadeHash.all.first { $0.password.utf8.count > 72 })
    let encoded = Secret(made.encoded)
    let typo = Secret(String(made.password.prefix(72)) + "typed otherwise")
    #expect(try await pool.verify(typo, against: encoded))
    #expect(pool.isWeaker(encoded, of: typo) == false)
    let exact = Secret(String(made.password.prefix(72)))
    #expect(try await pool.verify(exact, against: encoded))
    #expect(pool.isWeaker(encoded, of: exact) == false, "it may be the beginning of the user's")
    #expect(try await pool.verify(Secret(String(made.password.prefix(71))), against: encoded) == false)
  }

  @Test func `ends a password at a null byte, as the other system did, and is not replaced by that`() async throws {
    let made = try #require(MadeHash.all.first { $0.encoded.hasPrefix("$2b$") })
    let longer = Secret(made.password + "\u{0}more")
    #expect(try await pool.verify(longer, against: Secret(made.encoded)))
    #expect(pool.isWeaker(Secret(made.encoded), of: longer) == false)
  }

  @Test func `costs a wrong password no less than an unknown address does`() async throws {
    let (metrics, plain) = (ServerMetrics(), try #require(MadeHash.all.first { $0.encoded.hasPrefix("$sha256$") }))
    // Too little for Argon2: the failure shows that it was asked.
    let pool = PasswordPool(parameters: Argon2Parameters(memory: 1, passes: 1, lanes: 1), metrics: metrics)
    await #expect(throws: PasswordHashError.self) { try await pool.verify(Secret("wrong"), against: nil) }
    await #expect(throws: PasswordHashError.self) {
      try await pool.verify(Secret("wrong"), against: Secret(plain.encoded))
    }
    #expect(try await pool.verify(Secret(plain.password), against: Secret(plain.encoded)))
    #expect(metrics.snapshot.passwordHashes == 3)
  }

  @Test(arguments: [
    ("$2b$16$", "abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyz01234", "cost"),
    ("$argon2id$v=19$m=262145,t=1,p=1$", "c2FsdHNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Ng", "m"),
    ("$argon2id$v=19$m=262144,t=17,p=1$", "c2FsdHNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Ng", "m × t"),
    ("$argon2i$v=19$m=65536,t=1,p=17$", "c2FsdHNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Ng", "p"),
    ("$argon2i$v=19$m=65536,t=99999999999999999999999,p=1$", "c2FsdHNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Ng", "t"),
    ("$pbkdf2-sha256$i=10000001,l=16$", "c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", "i"),
    // Two blocks of SHA-1.
    ("$pbkdf2-sha1$i=6000000,l=21$", "c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Njc4OTAx", "i"),
    ("$scrypt$ln=19,r=8,p=1$", "c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", "ln × r"),
    ("$scrypt$ln=62,r=8,p=1$", "c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", "ln × r"),
    ("$scrypt$ln=1048576,r=8,p=1$", "c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", "ln × r"),
    ("$scrypt$ln=16,r=8,p=17$", "c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", "ln × r × p"),
    ("$scrypt$ln=1,r=1,p=4194304$", "c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", "ln × r"),
    ("$firescrypt$ln=22,r=8,p=1$", "c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng$Bw$MTIzNDU2Nzg5MDEyMzQ1Ng", "ln × r"),
  ])
  func `is refused for a silly cost, at the import and later`(start: String, rest: String, part: String) async throws {
    let encoded = Secret(start + rest)
    let refusal = #expect(throws: PasswordHashError.self) { try PasswordHashes.check(encoded) }
    guard case .tooCostly(part, _) = refusal else { return #expect(Bool(false), "\(String(describing: refusal))") }
    let error = await #expect(throws: PasswordHashError.self) {
      try await pool.verify(Secret("password"), against: encoded)
    }
    #expect(refusal != nil && error == refusal)
  }

  @Test(arguments: [
    ("", PasswordHashError.unknownForm), ("plain text", .invalid("character")), ("password", .unknownForm),
    ("$", .unknownForm), ("$1$salt$hash", .unknownForm), ("$2x$04$", .unknownForm),
    ("$2b$04$short", .invalid("salt or hash")),
    ("$2b$03$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyz01234", .invalid("cost")),
    ("$argon2d$v=19$m=64,t=2,p=2$c2FsdHNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Ng", .unknownForm),
    ("$argon2id$v=18$m=64,t=2,p=2$c2FsdHNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Ng", .invalid("v")),
    ("$argon2id$v=19$m=8,t=2,p=2$c2FsdHNhbHQ$MTIzNDU2Nzg5MDEyMzQ1Ng", .invalid("parameters")),
    ("$pbkdf2-md5$i=1,l=16$c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", .unknownForm),
    ("$pbkdf2-sha1$i=1,l=17$c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", .invalid("l")),
    // Without a hash any password would match.
    ("$pbkdf2-sha1$i=1,l=0$c2FsdA$", .invalid("hash")), ("$scrypt$ln=4,r=8,p=1$c2FsdA$", .invalid("hash")),
    ("$sha1$pf=e1BBU1NXT1JEfQ$c2FsdA$", .invalid("hash")),
    ("$sha1$pf=e1NBTFR9$c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA", .invalid("pf")),
    ("$firescrypt$ln=4,r=8,p=1$c2FsdA$$Bw$", .invalid("signer key")),
    ("$scrypt$ln=1000,r=8,p=1$c2FsdA$MTIzNDU2Nzg5MDEyMzQ1Ng", .invalid("ln")),
  ])
  func `is refused for its form, with a reason`(text: String, reason: PasswordHashError) throws {
    let refusal = #expect(throws: PasswordHashError.self) { try PasswordHashes.check(Secret(text)) }
    #expect(refusal == reason)
  }

  /// Every beginning of it, and every part and number replaced.
  private static func broken(_ encoded: String) -> [String] {
    var all =
      encoded.indices.map { String(encoded[..<$0]) } + [encoded + "$", encoded + "A", encoded + "\u{0}", encoded + "é"]
    let parts = encoded.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
    let numbers = ["", "-1", "0", "1", "00000001", "4294967295", "9223372036854775807", "18446744073709551616"]
    for index in parts.indices {
      for other in numbers + ["=", ",", "=,=,", "ln=", "////", "é", String(repeating: "A", count: 5000)] {
        all.append((parts[..<index] + [other] + parts[(index + 1)...]).joined(separator: "$"))
      }
      all.append((parts[..<index] + parts[(index + 1)...]).joined(separator: "$"))
      let pairs = parts[index].split(separator: ",").map { $0.split(separator: "=").map(String.init) }
      for (place, pair) in pairs.enumerated() where pair.count == 2 && Int(pair[1]) != nil {
        for number in numbers {
          var changed = pairs.map { $0.joined(separator: "=") }
          changed[place] = pair[0] + "=" + number
          all.append(
            (parts[..<index] + [changed.joined(separator: ",")] + parts[(index + 1)...]).joined(separator: "$"))
        }
      }
    }
    return all
  }

  @Test(arguments: MadeHash.all) func `that is damaged is refused, or matches no password`(made: MadeHash) async throws
  {
    for text in Self.broken(made.encoded) where text != made.encoded {
      do { try PasswordHashes.check(Secret(text)) } catch {
        await #expect(throws: PasswordHashError.self, "\(text)") {
          try await pool.verify(Secret(made.password), against: Secret(text))
        }
        continue
      }
      // Version 16 and a salt with other bits are forms of their own. `1` for a cost may be the same number.
      let fits = try? await pool.verify(Secret("another password"), against: Secret(text))
      #expect(fits != true, "\(text)")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An account with a password hash of another system` {
  @Test(arguments: ["$2b$", "$scrypt$", "$pbkdf2-sha1$", "$firescrypt$", "$sha1$"])
  func `signs in with its password, which is then hashed as others are`(form: String) async throws {
    let made = try #require(MadeHash.all.first { $0.encoded.hasPrefix(form) })
    for byPage in [false, true] {
      try await TestServer.run { test in
        let ada = try await test.signUp()
        let registry = test.server.registry
        let record = try #require(try await registry.account(AccountID(ada.account)))
        _ = try await registry.strengthen(record, hash: Secret(made.encoded))
        func stored() async throws -> String? {
          try await registry.account(record.id)?.passwordHash?.withExposed { $0 }
        }
        let wrong = TestServer.signInBody("ada@example.org", password: "wrong " + made.password)
        #expect(try await test.client.post("/v1/sign-in", json: wrong).status == 401)
        #expect(try await stored() == made.encoded)
        for _ in 1...2 {
          if byPage {
            let page = try await Browser(test.client.base).signIn(at: "/sign-in", password: made.password)
            #expect(page.status == 303)
          } else {
            let body = TestServer.signInBody("ada@example.org", password: made.password)
            #expect(try await test.client.post("/v1/sign-in", json: body).status == 200)
          }
          #expect(try await stored()?.hasPrefix("$argon2id$v=19$m=8,t=1,p=1$") == true)
        }
        #expect(try await test.client.get("/v1/me", token: ada.access).status == 200)
      }
    }
  }
}
#endif
