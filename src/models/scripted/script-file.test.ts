import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadScript, parseScript } from './script-file.ts'

function problemOf(text: string): string {
  try {
    parseScript(text, 'play.yaml')
  } catch (error) {
    expect(error).toMatchObject({ code: 'bad-script' })
    return (error as Error).message
  }
  return expect.fail('the script was taken')
}

describe('a script that is wrong names its line and field', () => {
  test.each([
    [
      'a reply of a wrong type',
      'rules:\n  - when: {}\n    reply:\n      calls: yes please\n',
      'play.yaml:4: rules[0].reply.calls',
    ],
    [
      'an unknown condition',
      'rules:\n  - when:\n      agent: lead\n      tern: 1\n    reply: {}\n',
      'play.yaml:4: rules[0].when',
    ],
    [
      'a comparison that is none',
      'rules:\n  - when: { turn: "about 2" }\n',
      'play.yaml:2: rules[0].when.turn: "about 2"',
    ],
    ['a broken pattern', 'rules:\n  - reply: {}\n  - when: { prompt: "(" }\n', 'play.yaml:3: rules[1].when.prompt'],
    ['a fault of no kind', 'rules:\n  - reply: { fault: { retryAfter: 3 } }\n', 'play.yaml:2: rules[0].reply.fault'],
    ['a size of a model that is none', 'model: { parameters: huge }\nrules: []\n', 'play.yaml:1: model.parameters'],
    ['no rules', 'model: {}\n', 'rules'],
    ['an empty file', '', 'rules'],
    ['YAML that is broken', 'rules:\n  - when: {\n', 'play.yaml:'],
    ['a key that is given twice', 'rules: []\nrules: []\n', 'play.yaml:2'],
  ])('%s', (_, text, part) => {
    expect(problemOf(text)).toContain(part)
  })

  test('and a file that is not there is named', () => {
    expect(() => loadScript('/nowhere/play.yaml')).toThrow('/nowhere/play.yaml')
  })
})

test('a script that has changed is read again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'script-'))
  const path = join(folder, 'play.yaml')
  try {
    writeFileSync(path, 'rules: [{ reply: { text: one } }]')
    const first = loadScript(path)
    expect(loadScript(path)).toBe(first)
    writeFileSync(path, 'rules: [{ reply: { text: two } }]')
    utimesSync(path, new Date(), new Date(Date.now() + 5000))
    expect(loadScript(path).rules[0]?.reply.text).toBe('two')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('sizes of models are billions, however they are written', () => {
  const parametersOf = (value: string) =>
    parseScript(`model: { parameters: ${value} }\nrules: []`, 'x').model.parameters
  expect([parametersOf('70B'), parametersOf('500M'), parametersOf('1.5b'), parametersOf('8')]).toEqual([
    70, 0.5, 1.5, 8,
  ])
})
