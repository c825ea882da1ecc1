-- Health of a GoodputMeasurement for Argo CD. Healthy means that its Job succeeded and left data.
-- Only the base and table libraries are used: Argo CD opens no others.
local status = obj.status or {}
local trues = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" then
    trues[condition.type] = condition
  end
end

local function health(word, condition, fallback)
  local message = fallback or ""
  if condition ~= nil then
    message = (condition.reason or "") .. ": " .. (condition.message or "")
  end
  return { status = word, message = message }
end

-- a status of an older spec, or none, says nothing of this one
if (status.observedGeneration or 0) < (obj.metadata.generation or 1) then
  return health("Progressing", nil, "not looked at yet")
end
if trues.Complete ~= nil then
  if trues.Complete.reason == "JobSucceeded" then
    return health("Healthy", trues.Complete)
  end
  return health("Degraded", trues.Complete)
end
if trues.Measuring ~= nil then
  return health("Progressing", trues.Measuring)
end
return health("Progressing", nil, "waiting for logs")
