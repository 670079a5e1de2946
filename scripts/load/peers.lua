-- One thread, and one connection, of wrk: `wrk -tN -cN -s peers.lua URL -- KIND FOLDER PATH AUTHORIZATION BODY`, with KIND refresh, introspect
-- or password. Each request is BODY, sent to PATH, with a line of FOLDER/i.tokens instead of TOKEN; thread number i has that file to itself.
-- AUTHORIZATION is the header of that name, or empty. An answer counts as wrong if it is not 200 with a new token, or "active":true; the first wrong
-- one is printed. "begun" also counts requests that were not answered at the end.
local count = 0
local threads = {}
function setup(thread)
  thread:set("number", count)
  count = count + 1
  threads[count] = thread
end

local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
local tokens, place, kind, path, body = {}, 0, nil, nil, nil
begun, failed, sample = 0, 0, ""

function init(arguments)
  kind, path, body = arguments[1], arguments[3], arguments[5]
  if arguments[4] ~= "" then headers["Authorization"] = arguments[4] end
  for line in io.lines(arguments[2] .. "/" .. number .. ".tokens") do tokens[#tokens + 1] = line end
end

function request()
  begun = begun + 1
  place = place % #tokens + 1
  return wrk.format("POST", path, headers, (body:gsub("TOKEN", tokens[place])))
end

local function right(status, text)
  if status ~= 200 then return false end
  if kind == "introspect" then return text:find('"active":%s*true') ~= nil end
  local access, refresh = text:match('"access_token":%s*"([^"]+)"'), text:match('"refresh_token":%s*"([^"]+)"')
  if not access or not refresh then return false end
  if kind == "refresh" then
    if refresh == tokens[place] then return false end
    tokens[place] = refresh
  end
  return true
end

function response(status, _, text)
  if not right(status, text) then
    failed = failed + 1
    if sample == "" then sample = status .. " " .. text:sub(1, 300) end
  end
end

function done(summary, latency)
  -- wrk calls request() once before it begins.
  local all, wrong = -1, 0
  for _, thread in ipairs(threads) do
    all = all + thread:get("begun")
    wrong = wrong + thread:get("failed")
    if sample == "" then sample = thread:get("sample") end
  end
  if sample ~= "" then io.stderr:write(sample, "\n") end
  print(string.format('{"requests":%d,"begun":%d,"seconds":%f,"p50":%f,"p99":%f,"wrong":%d,"lost":%d}', summary.requests, all, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, wrong, summary.errors.timeout + summary.errors.read + summary.errors.connect))
end
