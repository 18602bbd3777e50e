// Pinocchio's rnea and aba over CasADi's symbols, written as C: inverse_dynamics.c and forward_dynamics.c in this folder.
// Standard input: the number of joints; for each its parent, rotation (by rows) and place of its frame in the parent's, mass, centre of
// mass and inertia about it (by rows). All joints turn about their z axis. Built and run by tools/write_casadi.py.

#include <pinocchio/autodiff/casadi.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <iostream>

using casadi::SX;
typedef pinocchio::ModelTpl<SX> Model;
typedef Eigen::Matrix<SX, Eigen::Dynamic, 1> Vector;

static SX next()
{
    double value;
    std::cin >> value;
    return value;
}

static Vector entries(const SX& symbols)
{
    Vector vector(symbols.size1());
    for (int i = 0; i < symbols.size1(); i++) vector[i] = symbols(i);
    return vector;
}

static SX column(const Vector& vector)
{
    SX symbols(vector.size(), 1);
    for (int i = 0; i < vector.size(); i++) symbols(i) = vector[i];
    return symbols;
}

int main()
{
    Model model;
    int n, parent;
    std::cin >> n;
    for (int k = 1; k <= n; k++) {
        Model::SE3 place;
        Model::Vector3 centre;
        Eigen::Matrix<SX, 3, 3> inertia;
        std::cin >> parent;
        for (int i = 0; i < 9; i++) place.rotation()(i / 3, i % 3) = next();
        for (int i = 0; i < 3; i++) place.translation()[i] = next();
        const SX mass = next();
        for (int i = 0; i < 3; i++) centre[i] = next();
        for (int i = 0; i < 9; i++) inertia(i / 3, i % 3) = next();
        model.addJoint(parent, pinocchio::JointModelRevoluteTpl<SX, 0, 2>(), place, "joint" + std::to_string(k));
        model.appendBodyToJoint(k, Model::Inertia(mass, centre, inertia), Model::SE3::Identity());
    }
    const SX q = SX::sym("q", n), qd = SX::sym("qd", n), third = SX::sym("third", n);
    pinocchio::DataTpl<SX> data(model), other(model);
    const Vector tau = pinocchio::rnea(model, data, entries(q), entries(qd), entries(third));
    const Vector qdd = pinocchio::aba(model, other, entries(q), entries(qd), entries(third), pinocchio::Convention::LOCAL);
    casadi::Function("inverse_dynamics", {q, qd, third}, {column(tau)}).generate("inverse_dynamics.c");
    casadi::Function("forward_dynamics", {q, qd, third}, {column(qdd)}).generate("forward_dynamics.c");
    return 0;
}
