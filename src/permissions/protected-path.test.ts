import { expect, test } from 'vitest'
import { isProtected } from './protected-path.ts'

test.each([
  '.git/config',
  '.GIT/hooks/pre-commit',
  '.g\u200cit/config',
  '.hu\u017fky/pre-commit',
  'a/AGENTS.md',
  '.vscode/tasks.json',
  '.zed/tasks.json',
  '.devcontainer/devcontainer.json',
  'any.code-workspace',
  '.cursor/mcp.json',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  '.cargo/config.toml',
  '.nvim.lua',
])('%j is protected', (path) => {
  expect(isProtected(path)).toBe(true)
})

test.each(['src/git/config', '.github/workflows/ci.yml', '.gitignore', 'code-workspace', 'agents.md.txt'])(
  '%j is not',
  (path) => {
    expect(isProtected(path)).toBe(false)
  },
)
