#if Server
import HandstampCore
import HandstampSupport
import HTTPTypes
import Hummingbird
import Logging

/// Measures every request, gives the lines of its log an ID and the caller's trace, and refuses paths with an empty part.
struct RequestTrace<Context: SessionRequestContext>: RouterMiddleware {
  let metrics: ServerMetrics
  let refusals: Tallies<RefusedRequest>
  let proxies: TrustedProxies
  let fields: ResponseFields
  let now: @Sendable () -> UnixTime

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    // A stranger's ID could be that of another request, and a number would tell strangers how many requests there are.
    let given = request.headers[.xRequestID].flatMap { id in
      proxies.trusts(IPAddress(context.channel.remoteAddress)) && RequestTraceID.isPlain(id) ? id : nil
    }
    let id = given ?? RequestTraceID.random()
    context.logger[metadataKey: "hb.request.id"] = .string(id)
    if let trace = request.headers[.traceparent].flatMap({ TraceParent($0) }) {
      context.logger[metadataKey: "trace_id"] = .string(trace.trace)
      context.logger[metadataKey: "parent_span_id"] = .string(trace.span)
    }
    let start = ContinuousClock.now
    // Routers take `//admin` for `/admin`, which a proxy's rule for `/admin` does not.
    var response = request.uri.path.contains("//") ? notFound : try await next(request, context)
    let took = ContinuousClock.now - start
    let labels = RequestLabels(
      method: RequestLabels.methods.contains(request.method) ? request.method.rawValue : "other",
      route: response.status == .notFound && context.endpointPath == "NotFound"
        ? "none" : context.endpointPath ?? "none", status: response.status.code)
    metrics.record(labels, took)
    response.headers[.xRequestID] = id
    switch response.status {
    case .unauthorized, .forbidden, .tooManyRequests: log(labels, request, context)
    default: break
    }
    context.logger.debug(
      "Request completed",
      metadata: [
        "http.method": "\(labels.method)", "http.route": "\(labels.route)", "http.status": "\(labels.status)",
        "handstamp.milliseconds": "\(took.wholeMilliseconds)",
      ])
    return response
  }

  private var notFound: Response {
    var notFound = ProblemError.notFound.response
    fields.add(to: &notFound.headers)
    return notFound
  }

  /// Logs refusals, of equal ones the first and then their number: an attempt to get around a control leaves a line.
  private func log(_ labels: RequestLabels, _ request: Request, _ context: Context) {
    let client = ClientAddress(of: request.headers, peer: context.channel.remoteAddress, behind: proxies)
    let refused = RefusedRequest(labels: labels, network: client.address.map { "\($0.network)" })
    guard let count = refusals.count(refused, at: now()) else { return }
    refused.log(count, from: client.text, to: context.logger)
  }
}

/// Requests that were refused alike.
struct RefusedRequest: Hashable, Sendable {
  var labels: RequestLabels
  var network: String?

  func log(_ count: Int, from address: String?, to logger: Logger) {
    logger.info(
      "Request refused",
      metadata: [
        "http.method": "\(labels.method)", "http.route": "\(labels.route)", "http.status": "\(labels.status)",
        "handstamp.address": "\(address ?? "unknown")", "handstamp.count": "\(count)",
      ])
  }
}

extension RequestLabels {
  fileprivate static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]
}

enum RequestTraceID {
  static func random() -> String {
    String(UInt64.random(in: 0 ... .max), radix: 16) + String(UInt64.random(in: 0 ... .max), radix: 16)
  }

  /// Whether an ID is short, and has only characters that are plain in every log.
  static func isPlain(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isUnreserved || "+/=".utf8.contains($0) }
  }
}

/// The `traceparent` of a caller (W3C Trace Context section 3.2).
struct TraceParent: Hashable, Sendable {
  /// 32 hexadecimal digits.
  let trace: String
  /// 16 hexadecimal digits.
  let span: String

  /// Returns `nil` for a field that is not valid.
  init?(_ field: String) {
    let parts = field.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0] != "ff", parts[0] != "00" || parts.count == 4,
      zip(parts, [2, 32, 16, 2]).allSatisfy({ part, count in
        part.utf8.count == count
          && part.utf8.allSatisfy { $0.isDigit || (97...102).contains($0) }
      }), parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
    else { return nil }
    trace = String(parts[1])
    span = String(parts[2])
  }
}
#endif
