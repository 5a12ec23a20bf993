-- Makes the requests of template.ts in wrk's one thread, and prints what wrk counted as JSON.

local count, products, key, body, path, method

function init(args)
  method, path, body, key = args[1], args[2], args[3], args[4]
  count, products = tonumber(args[5]), tonumber(args[6])
  wrk.headers["Authorization"] = "Bearer " .. args[7]
  if body ~= "" then wrk.headers["Content-Type"] = "application/json" end
  math.randomseed(os.time())
end

local function fill(text, filled)
  return (text:gsub("{(%a+)}", filled))
end

function request()
  count = count + 1
  local filled = {
    count = string.format("%.0f", count),
    product = string.format("%06d", math.random(1, products)),
  }
  if body == "" then return wrk.format(method, fill(path, filled)) end
  wrk.headers["Idempotency-Key"] = fill(key, filled)
  return wrk.format(method, fill(path, filled), nil, fill(body, filled))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,'
      .. '"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect, errors.read, errors.write, errors.timeout
  ))
end
