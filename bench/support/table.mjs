const columns = { figure: 52, value: 12, unit: 7, floor: 10, ratio: 8, goal: 10 }

export function tableHead() {
  const line = layOut({ figure: 'figure', value: 'value', unit: '', floor: 'floor', ratio: 'ratio', goal: 'goal' })
  return `${line}\n${'-'.repeat(line.length)}`
}

/** A row is `{ figure, value, unit, floor?, goal? }`; a goal is met by a value that is not above it. */
export function formatRow({ figure, value, unit, floor, goal }) {
  const verdict = goal === undefined ? '' : value <= goal ? '  met' : '  NOT MET'
  const ratio = floor === undefined ? '' : `x${(value / floor).toFixed(2)}`
  return layOut({ figure, value: number(value), unit, floor: number(floor), ratio, goal: number(goal) }) + verdict
}

function layOut(cells) {
  return Object.entries(columns)
    .map(([name, width]) =>
      name === 'figure' || name === 'unit' ? cells[name].padEnd(width) : cells[name].padStart(width),
    )
    .join(' ')
}

function number(value) {
  if (value === undefined) return ''
  if (value >= 1000) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)
}
