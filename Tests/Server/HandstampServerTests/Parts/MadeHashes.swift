#if Programs
/// A password hash that another program has made, at the lowest costs.
struct MadeHash: Sendable, CustomStringConvertible {
  var program: String
  var password: String
  var encoded: String

  private static let password = "correct horse café"

  private init(by program: String, of password: String, _ encoded: String) {
    (self.program, self.password, self.encoded) = (program, password, encoded)
  }

  var description: String { program }
  /// Argon2id with at least the parameters of tests.
  var isOfToday: Bool { encoded.hasPrefix("$argon2id$v=19$") }

  static let all: [MadeHash] = [
    MadeHash(
      by: "python bcrypt", of: password,
      "$2b$04$zkf9bYB4QvhafKKr4Rcy5Oca603ut.j36.ju0J6J4HcWZmKBmrK6C"),
    MadeHash(
      by: "python bcrypt 2a", of: password,
      "$2a$04$h0N2.fSbrFKKPbIPpBCkPOsdz4Uuvf6VHEgt3/27uCbsZVWsmlmaK"),
    MadeHash(
      by: "passlib bcrypt 2y", of: password,
      "$2y$04$HZ0h9C5zbkAM4U56olKkVuDH67.lZf8.ixv5KZSRqlFuB5.yrxx7O"),
    MadeHash(
      by: "python bcrypt of 90 bytes", of: String(repeating: "0123456789", count: 9),
      "$2b$04$NeTw75f6/8FeOv7ofll0M.Ms88EKcEyR3AQ3DqDZEcXNtTtwjQzhq"),
    MadeHash(
      by: "passlib argon2i", of: password,
      "$argon2i$v=19$m=64,t=2,p=2$Y0zJ+Z9zrtU6J8R4rzVGSA$PRDxpmoAeRCRtNrF/efraw"),
    MadeHash(
      by: "argon2-cffi argon2id", of: password,
      "$argon2id$v=19$m=64,t=2,p=2$I4RngHGMqrhuYDJsKktkRQ$Eml6L30JGzLZXxJ8tM5q/A"),
    MadeHash(
      by: "Django argon2", of: password,
      "$argon2id$v=19$m=64,t=2,p=8$c2FsdHNhbHRzYWx0$wQfbHahy65Iv6m29SlVThQ"),
    MadeHash(
      by: "argon2-cffi of version 16", of: password,
      "$argon2i$v=16$m=64,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$KGbhQQONgcwsnRfs0wpnzkE1pUwziCAD72JPIiPl8N8"),
    MadeHash(
      by: "Django pbkdf2_sha256", of: password,
      "$pbkdf2-sha256$i=1000,l=32$c2Vhc2FsdDBwZXBwZXI$oLzjBggspQV+T+G/P+aKr5/VZKjFkSDewedFxg0PhQU"),
    MadeHash(
      by: "Django pbkdf2_sha1", of: password,
      "$pbkdf2-sha1$i=1000,l=20$c2Vhc2FsdDBwZXBwZXI$zGt5E7M0CMzz/zOXSPWH4tCCk8A"),
    MadeHash(
      by: "passlib pbkdf2_sha512", of: password,
      "$pbkdf2-sha512$i=1000,l=64$H8PY21sLgZASAqAU4lyLEQ$5bbt8LJ2dhtDPmfjNTY2l7rLn5M4fW3FMmR1LrQIdmhi2p"
        + "BXtS5dBVHQhXGhEpMhhi5S4AQtksBaS5FQPDAdkg"),
    MadeHash(
      by: "passlib scrypt", of: password,
      "$scrypt$ln=10,r=8,p=1$UiqldI7x3vsf4zwHQIhRqg$83uzRr/RCjTOCgNvkMsqIe4bUp0nDcuYgSjv0D2xGxU"),
    MadeHash(
      by: "python bcrypt of decomposed text", of: "cafe\u{301} soirée",
      "$2b$04$mvEQMj2MBCF4Igce8F.E/uvnfMWYX5tdaKv3GX7EeWcKsaJXcmEUO"),
    MadeHash(
      by: "node scrypt", of: password,
      "$scrypt$ln=4096,r=8,p=2$E8yMuxKG6KYE2F2vk+xtEA==$vUzSMxB2/10xYjJxJV8sXuIuIILM4zNK1Dmom/2pKjc="),
    MadeHash(
      by: "node pbkdf2", of: password,
      "$pbkdf2-sha512$i=2000,l=64$E8yMuxKG6KYE2F2vk+xtEA==$tC46GK2UgLo98e2HXPTGVHLr0cKoPvjEOWA6fX9dou9Q"
        + "XE+HoL62gzz4DEuMxX8BNTtnb1x4TTSAp9w02WIyCQ=="),
    MadeHash(
      by: "node sha256", of: password,
      "$sha256$pf=e1NBTFR9OntQQVNTV09SRH0=$E8yMuxKG6KYE2F2vk+xtEA==$vsuQZPUsdfnY/lsmPhG+SluZH9x7tmnsTV+"
        + "tLUPOsn4="),
    MadeHash(
      by: "node sha1", of: password,
      "$sha1$pf=e1BBU1NXT1JEfXtTQUxUfQ==$E8yMuxKG6KYE2F2vk+xtEA==$XOe32zpA4p4br2XB0lrjVpm6L40="),
    MadeHash(
      by: "node sha512", of: password,
      "$sha512$pf=e1BBU1NXT1JEfXtTQUxUfQ==$E8yMuxKG6KYE2F2vk+xtEA==$B/t525EtvRTMelUcKZJLjoQ2F3AeqEPRco8"
        + "Y1hODHsqdbTvTm0CO22KdjB9Oic6tgRL/2FR0wlcjLUndosqUzg=="),
    MadeHash(
      by: "Firebase's published example", of: "user1password",
      "$firescrypt$ln=14,r=8,p=1$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAj"
        + "Tdn3aoItz+VHjoZilo78198JAdRuid5lQ==$Bw==$jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmd"
        + "ZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="),
    MadeHash(
      by: "Kratos' published example", of: "test",
      "$pbkdf2-sha256$i=100000,l=32$1jP+5Zxpxgtee/iPxGgOz0RfE9/KJuDElP1ley4VxXc$QJxzfvdbHYBpydCbHoFg3GJ"
        + "EqMFULwskiuqiJctoYpI"),
  ]
}
#endif
