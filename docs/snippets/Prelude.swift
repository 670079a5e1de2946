// Declarations that the guides' snippets assume. `make docs` compiles every guide together with this file.
import Foundation
import Handstamp

nonisolated struct Me: Decodable { let name: String }

struct Content: Sendable { var me: Me }

typealias Session = SessionManager<ServerBackend, Content>

let api = URL(fileURLWithPath: "/")
