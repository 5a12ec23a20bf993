// How the pages for reading look.

export const pageStyle = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
  code, pre { font: 0.9em ui-monospace, monospace; }
  pre { padding: 1rem; overflow-x: auto; border: 1px solid #8886; border-radius: 6px; }
  table { border-collapse: collapse; }
  td, th { padding: 0.25rem 0.75rem 0.25rem 0; text-align: left; vertical-align: top; }
  nav { margin-bottom: 2rem; }
  section { border-top: 1px solid #8886; margin-top: 1.5rem; }
  section:target h2 { text-decoration: underline; }
  @media (max-width: 40rem) {
    code { overflow-wrap: anywhere; }
    thead { display: none; }
    table, tbody, tr, td { display: block; }
    td { padding: 0; }
    tr { margin-bottom: 0.75rem; }
  }
`;
