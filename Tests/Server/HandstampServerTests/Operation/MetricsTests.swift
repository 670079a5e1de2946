#if Programs
import CoreMetrics
import Foundation
import Metrics
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The metrics of a server` {
  @Test func `publish every number of the snapshot`() throws {
    let (prometheus, snapshot) = (PrometheusMetrics(), ServerMetrics.Snapshot())
    let properties = Mirror(reflecting: snapshot).children.count
    #expect(snapshot.metrics.count == properties)
    #expect(Set(snapshot.metrics.map(\.name)).count == properties)
    ServerMetrics(factory: prometheus).publish()
    let lines = Set(prometheus.text.split(separator: "\n").map { String($0) })
    for metric in snapshot.metrics {
      #expect(lines.contains("# HELP \(metric.name) \(metric.help)"))
      #expect(lines.contains("\(metric.name) 0"))
    }
  }

  @Test func `are counted once, however often they are published`() {
    let prometheus = PrometheusMetrics()
    let metrics = ServerMetrics(factory: prometheus)
    metrics.update { $0.signIns += 2 }
    metrics.update { $0.openStreams = 7 }
    metrics.publish()
    metrics.publish()
    metrics.update { $0.signIns += 1 }
    metrics.update { $0.openStreams = 5 }
    metrics.publish()
    let lines = prometheus.text.split(separator: "\n")
    #expect(lines.contains("handstamp_sign_ins_total 3"))
    #expect(lines.contains("# TYPE handstamp_sign_ins_total counter"))
    #expect(lines.contains("handstamp_open_streams 5"))
    #expect(lines.contains("# TYPE handstamp_open_streams gauge"))
  }

  @Test func `have a page that a program of others reads`() async throws {
    let prometheus = PrometheusMetrics(help: ["odd": "a \"quoted\" \\ line\nand another"])
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    try await TestServer.run {
      $0.metrics = prometheus
    } body: { test in
      let session = try await test.signUp()
      _ = try await test.refresh(session.refresh, key: nil)
      _ = try await test.client.get("/v1/no/such/path")
      Counter(label: "odd", dimensions: [("la\"bel", "a\\b\"c\nd")], factory: prometheus).increment(by: 4)
      Recorder(label: "1 size", dimensions: [], factory: prometheus).record(0.02)
      let page = MetricsPage(of: test.server, metrics: prometheus, host: "127.0.0.1", port: 0, version: "9.9.9") {
        continuation.yield($0)
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await page.run() }
        defer { group.cancelAll() }
        var iterator = ports.makeAsyncIterator()
        let client = WireClient(base: "http://127.0.0.1:\(try #require(await iterator.next()))")
        let answer = try await client.get("/metrics")
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let script = """
          import sys
          from prometheus_client.parser import text_string_to_metric_families as parse
          for family in parse(sys.stdin.read()):
              for s in family.samples:
                  print(family.name, family.type, s.name, sorted(s.labels.items()), s.value)
          """
        let read = try await Tool.run(["/usr/bin/python3", "-c", script], input: answer.body)
        #expect(read.status == 0)
        let samples = read.text.split(separator: "\n")
        for line in [
          "handstamp_sign_ups counter handstamp_sign_ups_total [] 1.0",
          "handstamp_build_info gauge handstamp_build_info [('version', '9.9.9')] 1.0",
          "handstamp_store_accounts gauge handstamp_store_accounts [] 1.0",
          #"odd counter odd_total [('la_bel', 'a\\b"c\nd')] 4.0"#,
          "_1_size histogram _1_size_bucket [('le', '0.01')] 0.0",
          "_1_size histogram _1_size_bucket [('le', '0.025')] 1.0",
          "handstamp_request_duration_seconds histogram handstamp_request_duration_seconds_count "
            + "[('method', 'POST'), ('route', '/v1/sign-up'), ('status', '201')] 1.0",
          "handstamp_request_duration_seconds histogram handstamp_request_duration_seconds_count "
            + "[('method', 'GET'), ('route', 'none'), ('status', '404')] 1.0",
        ] {
          #expect(samples.contains(Substring(line)), "\(line)")
        }
        #expect(try await client.get("/ready").status == 200)
        #expect(try await client.get("/v1/sessions").status == 404)
        // Only where it is asked for.
        #expect(try await test.client.get("/metrics").status == 404)
      }
    }
  }
}
#endif
