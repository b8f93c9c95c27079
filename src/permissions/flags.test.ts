import { expect, test } from 'vitest'
import { defaultRules } from './default-rules.ts'
import { parseRuleFlag } from './flags.ts'
import { deniedText } from './headless.ts'

test('a flag names a key and a pattern, of which the first colon is the border', () => {
  expect(parseRuleFlag('bash:git *', 'allow')).toEqual({
    key: 'bash',
    pattern: 'git *',
    action: 'allow',
    source: 'flag',
  })
  expect(parseRuleFlag('webfetch:https://a.test/*', 'deny')).toMatchObject({
    key: 'webfetch',
    pattern: 'https://a.test/*',
  })
  expect(parseRuleFlag('edit', 'allow')).toMatchObject({ key: 'edit', pattern: '*' })
  expect(parseRuleFlag('write:docs/*', 'allow')).toMatchObject({ key: 'edit', pattern: 'docs/*' })
  expect(parseRuleFlag('*:*', 'deny')).toMatchObject({ key: '*', pattern: '*' })
})

test.each(['', ':x', 'bsh:ls', 'bash:', 'bash: ', 'bash:a\u0007b'])('the flag %j is refused with a remedy', (text) => {
  expect(() => parseRuleFlag(text, 'allow')).toThrow(expect.objectContaining({ code: 'bad-usage' }))
})

test('an unknown key is answered with the list of keys', () => {
  expect(() => parseRuleFlag('bsh:ls', 'allow')).toThrow(
    '--allow \'bsh:ls\': there is no key "bsh". Keys are bash, read, edit, webfetch, task, skill, mcp, external_directory, claim.',
  )
})

test('the bundled rules allow no command and no edit', () => {
  expect(defaultRules.filter(({ action }) => action === 'allow').map(({ key }) => key)).toEqual([
    'read',
    'skill',
    'task',
  ])
})

test('a headless denial says that nobody was asked and names the flags', () => {
  const text = deniedText({ key: 'bash', pattern: 'npm test', title: 'Run the tests' })
  expect(text).toContain('nobody was asked')
  expect(text).toContain("--allow 'bash:npm test'")
  expect(text).toContain('--permission allow')
  const outside = deniedText({ key: 'read', pattern: '../x', grant: { key: 'external_directory', pattern: '/o/*' } })
  expect(outside).toContain("--allow 'external_directory:/o/*'")
  expect(deniedText({ key: 'bash', pattern: "a'\nb" })).toContain("--allow 'bash:PATTERN'")
})
