#if Programs
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `AWS's token service` {
  @Test(
    arguments: [
      (nil, [:], "https://sts.amazonaws.com/"), ("eu-central-1", [:], "https://sts.eu-central-1.amazonaws.com/"),
      (nil, ["AWS_DEFAULT_REGION": "us-west-2"], "https://sts.us-west-2.amazonaws.com/"),
      ("cn-north-1", ["AWS_REGION": "us-west-2"], "https://sts.cn-north-1.amazonaws.com.cn/"),
      ("eu-central-1", ["AWS_ENDPOINT_URL": "http://127.0.0.1:5000"], "http://127.0.0.1:5000"),
      (
        nil, ["AWS_ENDPOINT_URL": "http://evil.net", "AWS_ENDPOINT_URL_STS": "https://sts.example.org"],
        "https://sts.example.org"
      ),
      (nil, ["AWS_ENDPOINT_URL": "http://sts.example.org"], nil), ("evil.net/", [:], nil), ("", [:], nil),
      (nil, ["AWS_ENDPOINT_URL_STS": "not a URL"], nil),
    ] as [(String?, [String: String], String?)])
  func `is the one that AWS's programs use`(region: String?, environment: [String: String], url: String?) {
    #expect((try? SecurityTokenService(region: region, environment: environment))?.url == url)
  }

  @Test(
    arguments: [
      ("<a><Key>AB+/=9</Key></a>", "AB+/=9"), ("<Key>2026-11-27T08:27:36.5Z</Key>", "2026-11-27T08:27:36.5Z"),
      ("<Key></Key>", nil), ("<Key>A", nil), ("A</Key>", nil), ("<Key>A</Key><Key>B</Key>", nil),
      ("<Key>A&amp;B</Key>", nil), ("<Key><b>A</b></Key>", nil), ("<Key>A\nB</Key>", nil), ("", nil),
    ] as [(String, String?)])
  func `answers with elements that occur once and hold plain text`(answer: String, text: String?) {
    #expect(SecurityTokenService.text(of: "Key", in: answer) == text)
  }

  @Test func `names the cause of a refusal by AWS's code alone`() {
    let answer = "<Error><Code>InvalidIdentityToken</Code><Message>the token eyJ is not valid</Message></Error>"
    let refusal = SecurityTokenService.refusal(400, answer)
    #expect(refusal.exit == .configuration && refusal.message.contains("InvalidIdentityToken"))
    #expect(!refusal.message.contains("eyJ") && refusal.hint.contains("issuer"))
    #expect(SecurityTokenService.refusal(503, "busy").exit == .network)
  }
}
#endif
