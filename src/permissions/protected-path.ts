const protectedPath =
  /(^|\/)(\.git|\.troupe|\.claude|\.opencode)(\/|$)|(^|\/)(troupe\.yaml|\.envrc|\.mcp\.json|\.vscode\/tasks\.json)$/i

/** True for files that make other programs run commands, this runtime included: only a person's own yes lets them be edited. */
export function isProtected(path: string): boolean {
  return protectedPath.test(path)
}
