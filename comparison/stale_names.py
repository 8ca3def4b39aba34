"""Dotted references in tracked text that do not resolve."""
import re,subprocess,pathlib,importlib,sys
sys.path.insert(0,".")
seen={}
for f in subprocess.run(["git","ls-files"],capture_output=True,text=True).stdout.split():
    if not re.search(r"\.(py|md|toml|ipynb|rst|yml)$",f) or f.startswith("comparison") or not pathlib.Path(f).exists(): continue
    for i,l in enumerate(pathlib.Path(f).read_text().splitlines(),1):
        for m in re.findall(r"rashomon_explorer(?:\.[A-Za-z_]\w*)+",l): seen.setdefault(m,[]).append((f,i))
        for m in re.findall(r"from (rashomon_explorer[.\w]*) import (\w+)",l): seen.setdefault(".".join(m),[]).append((f,i))
for ref,places in sorted(seen.items()):
    parts=ref.split("."); ok=False
    for k in range(len(parts),0,-1):
        try: o=importlib.import_module(".".join(parts[:k]))
        except ImportError: continue
        try:
            for a in parts[k:]: o=getattr(o,a)
            ok=True
        except AttributeError:
            try:
                import inspect
                a=parts[-1]; ok = hasattr(o,"__dataclass_fields__") and a in o.__dataclass_fields__
            except Exception: pass
        break
    if not ok: print(ref,places[:3])
