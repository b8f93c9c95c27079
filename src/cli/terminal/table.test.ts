import { expect, test } from 'vitest'
import { tableLines } from './table.ts'

test('columns line up, and the last one is cut at the edge of the terminal', () => {
  const lines = tableLines(
    ['NAME', 'WHAT'],
    [
      ['lead', 'takes a prompt and sends others'],
      ['日本', 'x'],
    ],
    24,
  )
  expect(lines).toEqual(['NAME  WHAT', 'lead  takes a prompt an…', '日本  x'])
})

test('a cell cannot break the table or reach the terminal', () => {
  expect(tableLines(['A', 'B'], [['x\ny', '\x1b[31mred']])).toEqual(['A    B', 'x y  red'])
})
