#if Server
import Hummingbird
import NIOCore

/// Answers every error of the routes behind it, in their format, and adds the fields of every response. See ``ErrorMapper``.
struct ErrorMiddleware<Context: RequestContext>: RouterMiddleware {
  let errors: ErrorMapper
  let format: ErrorMapper.Format
  let fields: ResponseFields

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do { response = try await next(request, context) } catch let error as ChannelError { throw error } catch {
      response = errors.response(to: error, of: request, as: format, logger: context.logger)
    }
    fields.add(to: &response.headers)
    return response
  }
}
#endif
