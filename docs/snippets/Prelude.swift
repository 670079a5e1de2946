// What the guides' snippets assume, apart from the declarations in QuickStart.md. `make docs` compiles every guide together
// with this file.
import Foundation

let api = serverURL
