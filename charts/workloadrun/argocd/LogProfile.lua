-- Health of a LogProfile for Argo CD. It is data, checked when it is stored: there is nothing to wait for.
return { status = "Healthy", message = "" }
