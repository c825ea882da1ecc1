-- Health of a Workflow for Argo CD. Healthy means that every targeted node was tested and no group failed.
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
if trues.Failed ~= nil then
  return health("Degraded", trues.Failed)
end
if trues.InProgress ~= nil then
  if status.waiting ~= nil then
    return health("Progressing", status.waiting)
  end
  return health("Progressing", trues.InProgress)
end
if trues.ValidationFailed ~= nil then
  return health("Degraded", trues.ValidationFailed)
end
if trues.Succeeded == nil then
  return health("Progressing", nil, "waiting to begin")
end
if trues.Succeeded.reason == "PartialCoverage" then
  return health("Degraded", trues.Succeeded)
end
return health("Healthy", trues.Succeeded)
