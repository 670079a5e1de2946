-- One thread, and one connection, of wrk: `wrk -tN -cN -s wrk.lua URL -- KIND FOLDER RATE`, with KIND refresh, me, introspect, password or hello. Thread
-- number i has the sessions of FOLDER/i.tokens to itself, one per line. With RATE above 0, each
-- thread begins that many requests a second, whether or not the one before is answered, and writes to FOLDER/i.times how many microseconds passed from the
-- moment at which each was due: a server that stalls cannot hide the requests that waited for it.
local ffi = require("ffi")
ffi.cdef [[ typedef struct { long seconds; long nanoseconds; } handstamp_time;
            int clock_gettime(int clock, handstamp_time *time); int getpid(void); ]]
local time = ffi.new("handstamp_time")
local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.seconds) * 1e6 + tonumber(time.nanoseconds) / 1e3
end

local count = 0
local threads = {}
function setup(thread)
  thread:set("number", count)
  count = count + 1
  threads[count] = thread
end

local letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local form = { ["Content-Type"] = "application/x-www-form-urlencoded" }
local json = { ["Content-Type"] = "application/json" }
local tokens, place, kind, folder, gap, due, times = {}, 0, nil, nil, 0, nil, nil
failed, answered = 0, 0

function init(arguments)
  kind, folder, gap = arguments[1], arguments[2], tonumber(arguments[3])
  gap = gap > 0 and 1e6 / gap or 0
  math.randomseed(number + 1 + os.time())
  if kind ~= "hello" then
    for line in io.lines(folder .. "/" .. number .. ".tokens") do tokens[#tokens + 1] = line end
  end
  if gap > 0 then times = io.open(folder .. "/" .. number .. ".times", "w") end
end

local function key()
  local text = {}
  for index = 1, 21 do
    local letter = math.random(64)
    text[index] = letters:sub(letter, letter)
  end
  return table.concat(text) .. "A"
end

function delay()
  if gap == 0 then return 0 end
  -- The first ones spread over a gap.
  due = due and due + gap or now() + math.random() * gap
  return math.max(0, (due - now()) / 1e3)
end

function request()
  if kind == "hello" then return wrk.format("GET", "/") end
  place = place % #tokens + 1
  local token = tokens[place]
  if kind == "me" then
    return wrk.format("GET", "/v1/me", { ["Authorization"] = "Bearer " .. token })
  elseif kind == "password" then
    return wrk.format("POST", "/v1/sign-in", json, '{"email":"' .. token .. '","password":"correct horse battery","device":{"id":"d-' .. number .. '","name":"load","platform":"Lua"}}')
  elseif kind == "introspect" then
    return wrk.format("POST", "/oauth/introspect", form, "client_id=load" .. number % 8 .. "&client_secret=load-secret-that-is-long-enough&token=" .. token)
  end
  return wrk.format("POST", "/oauth/token", form, "grant_type=refresh_token&refresh_token=" .. token .. "&rotation_key=" .. key())
end

function response(status, headers, body)
  if gap > 0 and due then times:write(string.format("%.0f\n", now() - due)) end
  answered = answered + 1
  if status ~= 200 then
    failed = failed + 1
    return
  end
  if kind == "refresh" then
    tokens[place] = body:match('"refresh_token":"([^"]+)"') or "lost"
  end
end

function done(summary, latency)
  local wrong = 0
  for _, thread in ipairs(threads) do wrong = wrong + thread:get("failed") end
  print(string.format('{"requests":%d,"seconds":%f,"p50":%f,"p99":%f,"wrong":%d,"lost":%d}', summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, wrong, summary.errors.timeout + summary.errors.read + summary.errors.connect))
end
