"""From any id to requirement, template, prompt, response, verdict and finding."""
