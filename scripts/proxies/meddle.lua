-- Forwards the server's answers with the change that the variable HOW names.
local host, port = os.getenv("SEALPOST"):match("(.*):(%d+)")
local how = os.getenv("HOW")

local forms = {
    -- Another text, with the right length.
    rewrite = function(body) body = body:gsub("secret", "forged text"); return body, #body end,
    -- An extra member, like advertising in pages.
    inject = function(body) body = body:gsub("}%s*$", ',"Advertisement":"<script>"}'); return body, #body end,
    -- The first half, and then the end of the connection.
    cut = function(body) return body:sub(1, #body // 2), #body end,
    -- The first half, with its length as if complete.
    shorten = function(body) body = body:sub(1, #body // 2); return body, #body end,
    empty = function() return "", 0 end,
}

core.register_service("meddle", "http", function(applet)
    local body = applet:receive() or ""
    local target = applet.path .. (applet.qs ~= "" and "?" .. applet.qs or "")
    local lines = { applet.method .. " " .. target .. " HTTP/1.1" }
    for name, values in pairs(applet.headers) do
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

    local stop = answer:find("\r\n\r\n", 1, true)
    applet:set_status(tonumber(answer:match("^HTTP/1.1 (%d+)")))
    for name, value in answer:sub(1, stop + 1):gmatch("([%w-]+): ([^\r]*)\r\n") do
        name = name:lower()
        if name ~= "connection" and name ~= "content-length" then applet:add_header(name, value) end
    end
    local changed, length = forms[how](answer:sub(stop + 4))
    applet:add_header("content-length", tostring(length))
    applet:start_response()
    applet:send(changed)
end)
