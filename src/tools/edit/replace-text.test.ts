import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replaceText } from './replace-text.ts'

type Vector = {
  id: string
  kind: string
  content: string
  old_string: string
  replace_all?: boolean
  expect: { strategy?: string; spans?: [number, number][]; error?: string; count?: number }
}

const vectors = JSON.parse(
  readFileSync(join(import.meta.dirname, 'fixtures/replacer-vectors.json'), 'utf8'),
) as Vector[]

const mark = '<<replaced>>'

describe('a text is found as the vectors say', () => {
  test.each(vectors.filter((vector) => !/identical|empty/.test(vector.expect.error ?? '')))('$id $kind', (vector) => {
    const { content, old_string: wanted, replace_all: all = false } = vector
    const outcome = replaceText({ content, wanted, replacement: mark, all, exactOnly: false })
    expect(seen(outcome)).toEqual(vector.expect)
  })
})

function seen(outcome: ReturnType<typeof replaceText>): Vector['expect'] {
  if ('text' in outcome) {
    return { strategy: outcome.strategy, spans: outcome.spans.map(({ start, end }) => [start, end]) }
  }
  switch (outcome.problem) {
    case 'not-found':
      return { error: 'not_found' }
    case 'multiple':
      return { error: 'multiple', count: outcome.spans.length, strategy: outcome.strategy }
    case 'disproportionate':
      return { error: 'disproportionate', strategy: outcome.strategy }
  }
}
