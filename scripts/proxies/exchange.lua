-- Answers a request with the server's answer to another one, sent with the client's own fields: token, credentials and
-- Accept-Signature are those of the original request.
--
-- PUT /exchanges sets the exchanges, one a line, with tabs between the parts:
--   method and path prefix of the client's request,
--   method, target and body of the replacement,
--   "same" or "nobody" (without credentials), and "asked" or "less" (a signature without method and target).
-- Each line works for one request, the first that matches. Other requests pass unchanged.
-- The line "as" with an Authorization field passes all requests on with those credentials, until the next PUT.
-- GET /exchanges lists the completed exchanges in the same form, each with the status at its end.
local host, port = os.getenv("SEALPOST"):match("(.*):(%d+)")
local planned, done = {}, {}
-- The proxy account's credentials, while it uses them in place of its clients'.
local own

local LESS = 'sig=("@status" "content-digest" "mytoken";req)'

-- Reads the server's answer until the connection ends.
local function ask(method, target, headers, body)
    local lines = { method .. " " .. target .. " HTTP/1.1" }
    for name, values in pairs(headers) do
        if name ~= "connection" and name ~= "content-length" and name ~= "transfer-encoding" then
            for _, value in pairs(values) do lines[#lines + 1] = name .. ": " .. value end
        end
    end
    lines[#lines + 1] = "content-length: " .. #body
    lines[#lines + 1] = "connection: close"
    local socket = core.tcp()
    socket:settimeout(10)
    socket:connect(host, tonumber(port))
    socket:send(table.concat(lines, "\r\n") .. "\r\n\r\n" .. body)
    local answer = socket:receive("*a")
    socket:close()
    return answer
end

local function tell(applet, status, text)
    applet:set_status(status)
    applet:add_header("content-length", tostring(#text))
    applet:start_response()
    applet:send(text)
end

local function parts(line)
    local parts = {}
    for part in (line .. "\t"):gmatch("([^\t]*)\t") do parts[#parts + 1] = part end
    return parts
end

local function take(method, path)
    for number, line in ipairs(planned) do
        local plan = parts(line)
        if plan[1] == method and path:sub(1, #plan[2]) == plan[2] then
            table.remove(planned, number)
            return line, plan
        end
    end
end

core.register_service("exchange", "http", function(applet)
    local body = applet:receive() or ""
    if applet.path == "/exchanges" then
        if applet.method == "PUT" then
            planned, done, own = {}, {}, body:match("^as\t([^\n]+)")
            if own then body = "" end
            for line in body:gmatch("[^\n]+") do planned[#planned + 1] = line end
        end
        return tell(applet, 200, table.concat(done, "\n"))
    end

    local method, target = applet.method, applet.path .. (applet.qs ~= "" and "?" .. applet.qs or "")
    local headers = {}
    for name, values in pairs(applet.headers) do headers[name] = values end
    local line, plan = take(method, applet.path)
    if plan then
        method, target, body = plan[3], plan[4], plan[5]
        if plan[6] == "nobody" then headers["authorization"] = nil end
        if plan[7] == "less" and headers["accept-signature"] then headers["accept-signature"] = { LESS } end
    end
    if own then
        headers["authorization"] = { own }
        line = method .. "\t" .. applet.path
    end
    local answer = ask(method, target, headers, body)
    local stop = answer:find("\r\n\r\n", 1, true)
    local status = tonumber(answer:match("^HTTP/1.1 (%d+)"))
    if line then done[#done + 1] = line .. "\t" .. status end
    applet:set_status(status)
    for name, value in answer:sub(1, stop + 1):gmatch("([%w-]+): ([^\r]*)\r\n") do
        name = name:lower()
        if name ~= "connection" and name ~= "content-length" then applet:add_header(name, value) end
    end
    local content = answer:sub(stop + 4)
    applet:add_header("content-length", tostring(#content))
    applet:start_response()
    applet:send(content)
end)
