"""Edits before the merge: names instead of modules."""
import pathlib,re,sys
root=pathlib.Path(sys.argv[1]); P=root/"rashomon_explorer"
f=P/"report/sections/__init__.py"; s=f.read_text()
mods=["about","aggregates","caveats","coefficients","data","definitions","fairness","importance","multiplicity","people","planning","privacy","reproduce","the_set","trees","width"]
head=re.search(r"from rashomon_explorer\.report\.sections import \([^)]*\)\n",s).group(0)
body=s.replace(head,"@@")
imports=[]
for m in mods:
    used=sorted(set(re.findall(rf"(?<![\w.]){m}\.(\w+)",body)))
    for u in used:
        n=f"{m}_{u}" if u in("curator","release") else {"plan":"plan_section","certificates":"certificates_section","ways":"alternatives_section"}.get(u,u)
        imports.append(f"from rashomon_explorer.report.sections.{m} import {u} as {n}")
        body=re.sub(rf"(?<![\w.]){m}\.{u}\b",n,body)
f.write_text(body.replace("@@","\n".join(imports)+"\n"))
for name,fn in (("report/blocks.py","block"),("report/page.py","page")):
    f=P/name; s=f.read_text()
    s=s.replace("from rashomon_explorer.report import templating",f"from rashomon_explorer.report.templating import {fn} as render_{fn}")
    s=s.replace(f"templating.{fn}(",f"render_{fn}(")
    assert "templating." not in s.replace("report.templating import",""),name
    f.write_text(s)
f=P/"__init__.py"; s=f.read_text()
for a,b in {"rashomon_set":"sets","schema":"data","arrays":"_utils.arrays","datasets":"data","planning":"mechanisms.planning"}.items(): s=s.replace(f': "{a}"',f': "{b}"')
f.write_text(s)
f=P/"assets.py"; s=f.read_text(); s=s.replace("_PACKAGE = Path(__file__).resolve().parent\n","_PACKAGE = Path(__file__).resolve().parent.parent\n"); f.write_text(s)
f=P/"datasets/own_csv.py"
f=root/"tests/exact/test_theorems.py"; s=f.read_text()
names=sorted(set(__import__("re").findall(r"\btheorems\.(\w+)",s)))
s=s.replace("from rashomon_explorer.theory import theorems","from rashomon_explorer.theory.theorems import "+", ".join(names)); s=re.sub(r"\btheorems\.(\w+)",r"\1",s.replace("theory.theorems import","theory.TH import")).replace("theory.TH import","theory.theorems import")
f.write_text(s)
f=P/"datasets/source.py"; s=f.read_text()
s=s.replace("for mark, kind in _OTHER_MARKS","for first, kind in _OTHER_MARKS").replace("if content.startswith(mark):","if content.startswith(first):")
assert "(mark" not in s and "mark)" not in s, [l for l in s.splitlines() if "mark" in l]
f.write_text(s)
