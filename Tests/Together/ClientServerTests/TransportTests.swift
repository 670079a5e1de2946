#if Programs
import Foundation
import HTTPTypes
import Handstamp
import HandstampSupport
import HandstampTesting
import Hummingbird
import NIOCore
import NIOPosix
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A transport` {
  @Test(arguments: Kind.allCases + [.foundation])
  func `sends method, headers and body, and returns status, headers and body`(_ kind: Kind) async throws {
    try await OddServer.run { router in
      router.post("echo") { request, _ -> Response in
        let body = try await request.body.collect(upTo: 1 << 20)
        return Response(
          status: .created, headers: [.init("X-Seen")!: request.headers[.init("X-Asked")!] ?? ""],
          body: .init(byteBuffer: body))
      }
    } _: { url in
      let response = try await kind.make().send(
        TransportRequest(
          method: "POST", url: url + "/echo", headers: [HeaderField("X-Asked", "yes")], body: [0, 1, 2, 255]))
      #expect(response.status == 201)
      #expect(response.header("x-seen") == "yes")
      #expect(response.body == [0, 1, 2, 255])
    }
  }

  @Test(arguments: Kind.allCases + [.foundation], [0, 1, 3_000_000])
  func `sends a file, and receives one`(_ kind: Kind, size: Int) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("transport-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (source, target) = (folder.appendingPathComponent("source"), folder.appendingPathComponent("target"))
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8)) }
    try Data(bytes).write(to: source)
    try await OddServer.run { router in
      router.put("file") { request, _ -> Response in
        let body = try await request.body.collect(upTo: 1 << 22)
        return Response(status: Array(body.readableBytesView) == bytes ? .created : .badRequest)
      }
      router.get("file") { _, _ in Response(status: .ok, body: .init(byteBuffer: ByteBuffer(bytes: bytes))) }
      router.get("none") { _, _ in Response(status: .notFound, body: .init(byteBuffer: ByteBuffer(string: "none"))) }
    } _: { url in
      let transport = kind.make()
      let upload = TransportRequest(method: "PUT", url: url + "/file")
      #expect(try await transport.upload(upload, fromFile: source.path).status == 201)
      let download = TransportRequest(method: "GET", url: url + "/file")
      let response = try await transport.download(download, toFile: target.path)
      #expect(response.status == 200 && response.body.isEmpty)
      #expect(try Array(Data(contentsOf: target)) == bytes)
      let none = try await transport.download(
        TransportRequest(method: "GET", url: url + "/none"), toFile: folder.appendingPathComponent("other").path)
      #expect(none.status == 404 && none.body == Array("none".utf8))
      await #expect(throws: TransportError.self) {
        try await transport.download(download, toFile: folder.appendingPathComponent("missing/file").path)
      }
    }
  }

  @Test(arguments: Kind.allCases + [.foundation])
  func `follows no redirect, so that no token is sent to its target`(_ kind: Kind) async throws {
    let reached = Counter()
    try await OddServer.run { router in
      router.get("target") { _, _ -> HTTPResponse.Status in
        reached.add()
        return .ok
      }
    } _: { target in
      try await OddServer.run { router in
        for code in [301, 302, 303, 307, 308] {
          router.get("\(code)") { _, _ in
            Response(status: .init(code: code), headers: [.location: target + "/target"])
          }
        }
      } _: { url in
        let transport = kind.make()
        for code in [301, 302, 303, 307, 308] {
          let response = try await transport.send(
            TransportRequest(method: "GET", url: "\(url)/\(code)", headers: [HeaderField("Authorization", "Bearer x")]))
          #expect(response.status == code)
        }
      }
    }
    #expect(reached.count == 0)
  }

  @Test(arguments: Kind.allCases + [.foundation])
  func `keeps no cookie`(_ kind: Kind) async throws {
    let seen = Counter()
    try await OddServer.run { router in
      router.get("cookie") { request, _ -> Response in
        if request.headers[.cookie] != nil { seen.add() }
        return Response(status: .ok, headers: [.setCookie: "sid=1; Path=/"])
      }
    } _: { url in
      let transport = kind.make()
      for _ in 0..<2 { _ = try await transport.send(TransportRequest(method: "GET", url: url + "/cookie")) }
    }
    #expect(seen.count == 0)
  }

  @Test(arguments: Kind.allCases + [.foundation])
  func `distinguishes unreachable, too slow, too large, an invalid URL and an invalid header`(_ kind: Kind) async throws
  {
    let transport = kind.make()
    func failure(_ request: TransportRequest) async -> String {
      do throws(TransportError) { return "\(try await transport.send(request))" } catch {
        switch error {
        case .connectionLost: return "unreachable"
        case .notConnected: return "not connected"
        case .invalidRequest: return "invalid"
        case .timedOut, .cancelled, .tooLarge: return "\(error)"
        }
      }
    }
    #expect(await failure(TransportRequest(method: "GET", url: "http://127.0.0.1:9/")) == "not connected")
    for url in ["", "ftp://127.0.0.1/", "http://", "nonsense"] {
      #expect(await failure(TransportRequest(method: "GET", url: url)) == "invalid", "\(url)")
    }
    let broken = [HeaderField("X", "a\r\nY: b")]
    #expect(await failure(TransportRequest(method: "GET", url: "http://127.0.0.1:9/", headers: broken)) == "invalid")
    let gate = Gate()
    try await OddServer.run { router in
      router.get("slow") { _, _ -> HTTPResponse.Status in
        await gate.wait()
        return .ok
      }
      router.get("large") { _, _ in
        Response(status: .ok, body: .init(byteBuffer: ByteBuffer(repeating: 65, count: 5000)))
      }
    } _: { url in
      await #expect(throws: TransportError.timedOut) {
        try await transport.send(TransportRequest(method: "GET", url: url + "/slow", timeout: .milliseconds(300)))
      }
      await #expect(throws: TransportError.tooLarge) {
        try await transport.send(TransportRequest(method: "GET", url: url + "/large", maximumResponseSize: 4999))
      }
      let whole = try await transport.send(
        TransportRequest(method: "GET", url: url + "/large", maximumResponseSize: 5000))
      #expect(whole.body.count == 5000)
      gate.open()
    }
  }

  /// On Linux, cancelling a URLSession task in this race hangs or crashes the process.
  @Test(arguments: Kind.allCases + [.foundation])
  func `survives cancellations that race the response`(_ kind: Kind) async throws {
    try await OddServer.run { router in
      router.get("quick") { _, _ in "quick" }
    } _: { url in
      let transport = kind.make()
      var answered = 0
      for round in 0..<40 {
        let calls = (0..<16).map { _ in
          Task {
            try await transport.send(TransportRequest(method: "GET", url: url + "/quick", timeout: .seconds(600)))
          }
        }
        for _ in 0..<round { await Task.yield() }
        for call in calls { call.cancel() }
        for call in calls {
          switch await call.result {
          case .success(let response):
            answered += 1
            #expect(response.body == Array("quick".utf8))
          case .failure(let error): #expect(error as? TransportError == .cancelled)
          }
        }
      }
      let last = try await transport.send(TransportRequest(method: "GET", url: url + "/quick", timeout: .seconds(600)))
      #expect(last.status == 200)
    }
  }

  @Test(arguments: Kind.allCases + [.foundation])
  func `delivers a stream as it arrives, and ends it when it has no reader`(_ kind: Kind) async throws {
    let gate = Gate()
    let ended = Gate()
    try await OddServer.run { router in
      router.get("stream") { _, _ in
        Response(
          status: .ok,
          body: .init { writer in
            do {
              try await writer.write(ByteBuffer(string: "first"))
              await gate.wait()
              while true {
                try await writer.write(ByteBuffer(string: "more"))
                // Without pauses, the server floods a client that is slow to go, and starves the servers of other tests.
                try await NIOSingletons.posixEventLoopGroup.next().scheduleTask(in: .milliseconds(5)) {}.futureResult
                  .get()
              }
            } catch { ended.open() }
          })
      }
    } _: { url in
      let reading = Task {
        let stream = try await kind.make().open(TransportRequest(method: "GET", url: url + "/stream"))
        #expect(stream.status == 200)
        var text: [UInt8] = []
        for try await chunk in stream.body {
          text += chunk
          gate.open()
          if text.count > 20 { break }
        }
        return text
      }
      let text = String(decoding: try await reading.value, as: UTF8.self)
      #expect(text.hasPrefix("firstmore"))
      await ended.wait()
    }
  }
}

final class Counter: Sendable {
  private let value = Locked(0)
  var count: Int { value.withLock { $0 } }
  func add() { value.withLock { $0 += 1 } }
}
#endif
