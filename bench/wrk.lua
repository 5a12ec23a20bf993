-- Makes the requests of load.ts in wrk's one thread, and prints what wrk counted as JSON.
-- Answers are looked at only where the plan says so: that costs wrk some microseconds each.

local count, numbers
local requests, callers = {}, {}
local caller
local reading, writing = {}, { ["Content-Type"] = "application/json" }
local threads = {}

-- Of a thread, to be read at the end.
movements, unlike = 0, 0

function setup(thread)
  table.insert(threads, thread)
end

local function draw(most)
  return math.random(1, most)
end

local holes = {
  count = function() return string.format("%.0f", count) end,
  used = function() return string.format("%06d", count % numbers.used + 1) end,
  product = function() return string.format("%06d", draw(numbers.products)) end,
  movement = function() return string.format("%07d", draw(numbers.movements)) end,
  location = function() return caller.location end,
  prefix = function() return caller.prefix end,
}

local function fill(text)
  return (text:gsub("{(%a+)}", function(hole) return holes[hole]() end))
end

local function read(plan)
  for line in io.lines(plan) do
    local fields = {}
    for field in (line .. "\t"):gmatch("(.-)\t") do table.insert(fields, field) end
    if fields[1] == "caller" then
      table.insert(callers, { token = fields[2], location = fields[3], prefix = fields[4] })
    else
      local one = { method = fields[3], path = fields[4], key = fields[5], body = fields[6],
        coding = fields[7] }
      for _ = 1, tonumber(fields[2]) do table.insert(requests, one) end
    end
  end
end

function init(args)
  read(args[1])
  count = tonumber(args[2])
  numbers = {
    products = tonumber(args[3]), movements = tonumber(args[4]), used = tonumber(args[5]),
  }
  math.randomseed(os.time())
  if args[6] == "movements" then
    response = function(status)
      if status == 201 then movements = movements + 1 end
    end
  elseif args[6] == "replays" then
    response = function(_, headers)
      if headers["idempotent-replayed"] ~= "true" then unlike = unlike + 1 end
    end
  end
end

function request()
  count = count + 1
  caller = callers[draw(#callers)]
  local one = requests[draw(#requests)]
  local headers = one.body == "" and reading or writing
  headers["Authorization"] = "Bearer " .. caller.token
  headers["Accept-Encoding"] = one.coding ~= "" and one.coding or nil
  if one.body == "" then return wrk.format(one.method, fill(one.path), headers) end
  headers["Idempotency-Key"] = fill(one.key)
  return wrk.format(one.method, fill(one.path), headers, fill(one.body))
end

function done(summary, latency)
  local errors = summary.errors
  local recorded, wrong = 0, 0
  for _, thread in ipairs(threads) do
    recorded = recorded + thread:get("movements")
    wrong = wrong + thread:get("unlike")
  end
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"movements":%d,"unlike":%d,'
      .. '"broken":{"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    recorded, wrong,
    errors.status, errors.connect, errors.read, errors.write, errors.timeout
  ))
end
