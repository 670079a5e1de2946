#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import NIOCore

/// `/account/data`: a person takes the stored data along, or deletes the account.
struct DataPageController: Sendable {
  let owners: OwnerPages
  let service: AccountService
  /// Returns everything that is stored about a person.
  let export: @Sendable (AccountID, AuditActor) async throws -> [UInt8]

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/account/data") { try await owners.withSignedInUser($0, $1) { show($0) } }
    routes.post("/account/data") { try await owners.withSignedInUser($0, $1, download) }
    routes.get("/account/delete") { try await owners.withSignedInUser($0, $1, showDelete) }
    routes.post("/account/delete") { try await owners.withSignedInUser($0, $1, delete) }
  }

  private func show(_ call: AccountRequest, notice: PageNotice? = nil) -> Response {
    call.visit.show(Page(name: "account_data", title: "account_data.title", notice: notice, section: .data))
  }

  @concurrent private func download(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "download" else { return call.visit.unknownAction() }
    let json: [UInt8]
    do { json = try await service.download(call.owner, by: export) } catch {
      return show(call, notice: try call.visit.words(for: error).notice)
    }
    return Response(
      status: .ok,
      headers: [
        .contentType: "application/json", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        .contentDisposition: "attachment; filename=\"account.json\"",
      ], body: .init(byteBuffer: ByteBuffer(bytes: json)))
  }

  @concurrent private func showDelete(_ call: AccountRequest) async throws -> Response {
    // The form has the password, which may be enough.
    let needed = try await service.neededContext(of: call.account)
    if needed != nil || call.account.passwordHash == nil { try await service.require(.delete, of: call.owner) }
    return deletePage(call)
  }

  private func deletePage(
    _ call: AccountRequest, errors: [String: PageText] = [:], notice: PageNotice? = nil
  ) -> Response {
    var page = Page(name: "delete", title: "delete.title", errors: errors, notice: notice, section: .data)
    page.context = [
      "email": .text(call.account.email?.typed ?? call.account.shownName),
      "typed_email": .text(
        ifPresent: call.visit.form?["typed_email"].map { String($0.prefix(EmailAddress.maxLength)) }),
      "has_password": .flag(if: call.account.passwordHash != nil),
    ]
    return call.visit.show(page)
  }

  @concurrent private func delete(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "delete" else { return call.visit.unknownAction() }
    let (form, account) = (call.visit.form, call.account)
    let typed = form?["typed_email"].flatMap { EmailAddress(composed: $0) }
    guard typed?.normalized == account.email?.normalized else {
      return deletePage(call, errors: ["typed_email": "field_error.email_other"])
    }
    let password = form?.password("password")
    guard password != nil || account.passwordHash == nil else {
      return deletePage(call, errors: ["password": "field_error.password_missing"])
    }
    do { try await service.delete(call.owner, password: password) } catch {
      let words = try call.visit.words(for: error, passwordIn: "password")
      return deletePage(call, errors: words.errors, notice: words.notice)
    }
    var visit = call.visit
    visit.web = nil
    var page = Page.message("deleted", to: [])
    page.cookies = ResponseCookie.signedOut
    return visit.show(page)
  }
}
#endif
